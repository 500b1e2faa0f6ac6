// stablehlo.abs C1: shape(operand) = shape(result)
module {
  func.func @main(%arg0: tensor<62xf32>) -> tensor<61xf32> {
    %0 = "stablehlo.abs"(%arg0) : (tensor<62xf32>) -> tensor<61xf32>
    "func.return"(%0) : (tensor<61xf32>) -> ()
  }
}
// -----
// stablehlo.abs C2: baseline_element_type(result) = baseline_element_type(operand), real for complex elements
module {
  func.func @main(%arg0: tensor<61xf64>) -> tensor<61xf32> {
    %0 = "stablehlo.abs"(%arg0) : (tensor<61xf64>) -> tensor<61xf32>
    "func.return"(%0) : (tensor<61xf32>) -> ()
  }
}
// -----
// stablehlo.add C1: without quantized tensors: type(lhs) = type(rhs) = type(result)
module {
  func.func @main(%arg0: tensor<2304xf64>, %arg1: tensor<2304xf32>) -> tensor<2304xf32> {
    %0 = "stablehlo.add"(%arg0, %arg1) : (tensor<2304xf64>, tensor<2304xf32>) -> tensor<2304xf32>
    "func.return"(%0) : (tensor<2304xf32>) -> ()
  }
}
// -----
// stablehlo.add C2: is_quantized(lhs) and is_quantized(rhs) and is_quantized(result), or none of them is
module {
  func.func @main(%arg0: tensor<2304x!quant.uniform<i8:f32, 0.5:-3>>, %arg1: tensor<2304xf32>) -> tensor<2304xf32> {
    %0 = "stablehlo.add"(%arg0, %arg1) : (tensor<2304x!quant.uniform<i8:f32, 0.5:-3>>, tensor<2304xf32>) -> tensor<2304xf32>
    "func.return"(%0) : (tensor<2304xf32>) -> ()
  }
}
// -----
// stablehlo.add C3: storage_type(lhs) = storage_type(rhs) = storage_type(result)
module {
  func.func @main(%arg0: tensor<7x!quant.uniform<i16:f32, 0.5:-3>>, %arg1: tensor<7x!quant.uniform<i8:f32, 0.5:-3>>) -> tensor<7x!quant.uniform<i8:f32, 0.5:-3>> {
    %0 = "stablehlo.add"(%arg0, %arg1) : (tensor<7x!quant.uniform<i16:f32, 0.5:-3>>, tensor<7x!quant.uniform<i8:f32, 0.5:-3>>) -> tensor<7x!quant.uniform<i8:f32, 0.5:-3>>
    "func.return"(%0) : (tensor<7x!quant.uniform<i8:f32, 0.5:-3>>) -> ()
  }
}
// -----
// stablehlo.add C4: expressed_type(lhs) = expressed_type(rhs) = expressed_type(result)
module {
  func.func @main(%arg0: tensor<7x!quant.uniform<i8:f64, 0.5:-3>>, %arg1: tensor<7x!quant.uniform<i8:f32, 0.5:-3>>) -> tensor<7x!quant.uniform<i8:f32, 0.5:-3>> {
    %0 = "stablehlo.add"(%arg0, %arg1) : (tensor<7x!quant.uniform<i8:f64, 0.5:-3>>, tensor<7x!quant.uniform<i8:f32, 0.5:-3>>) -> tensor<7x!quant.uniform<i8:f32, 0.5:-3>>
    "func.return"(%0) : (tensor<7x!quant.uniform<i8:f32, 0.5:-3>>) -> ()
  }
}
// -----
// stablehlo.add C5: (is_per_axis_quantized(lhs) or is_per_axis_quantized(rhs)) = is_per_axis_quantized(result)
module {
  func.func @main(%arg0: tensor<7x!quant.uniform<i8:f32, 0.5:-3>>, %arg1: tensor<7x!quant.uniform<i8:f32, 0.5:-3>>) -> tensor<7x!quant.uniform<i8:f32:0, {0.5:-3, 0.75:-3, 1.0:-3, 1.25:-3, 1.5:-3, 1.75:-3, 2.0:-3}>> {
    %0 = "stablehlo.add"(%arg0, %arg1) : (tensor<7x!quant.uniform<i8:f32, 0.5:-3>>, tensor<7x!quant.uniform<i8:f32, 0.5:-3>>) -> tensor<7x!quant.uniform<i8:f32:0, {0.5:-3, 0.75:-3, 1.0:-3, 1.25:-3, 1.5:-3, 1.75:-3, 2.0:-3}>>
    "func.return"(%0) : (tensor<7x!quant.uniform<i8:f32:0, {0.5:-3, 0.75:-3, 1.0:-3, 1.25:-3, 1.5:-3, 1.75:-3, 2.0:-3}>>) -> ()
  }
}
// -----
// stablehlo.add C6: is_per_axis_quantized(lhs) implies the axis of lhs is that of result
module {
  func.func @main(%arg0: tensor<2x0x3x!quant.uniform<i8:f32:2, {0.5:-3, 0.75:-3, 1.0:-3}>>, %arg1: tensor<2x0x3x!quant.uniform<i8:f32:0, {0.5:-3, 0.75:-3}>>) -> tensor<2x0x3x!quant.uniform<i8:f32:0, {0.5:-3, 0.75:-3}>> {
    %0 = "stablehlo.add"(%arg0, %arg1) : (tensor<2x0x3x!quant.uniform<i8:f32:2, {0.5:-3, 0.75:-3, 1.0:-3}>>, tensor<2x0x3x!quant.uniform<i8:f32:0, {0.5:-3, 0.75:-3}>>) -> tensor<2x0x3x!quant.uniform<i8:f32:0, {0.5:-3, 0.75:-3}>>
    "func.return"(%0) : (tensor<2x0x3x!quant.uniform<i8:f32:0, {0.5:-3, 0.75:-3}>>) -> ()
  }
}
// -----
// stablehlo.add C7: is_per_axis_quantized(rhs) implies the axis of rhs is that of result
module {
  func.func @main(%arg0: tensor<2x0x3x!quant.uniform<i8:f32:0, {0.5:-3, 0.75:-3}>>, %arg1: tensor<2x0x3x!quant.uniform<i8:f32:2, {0.5:-3, 0.75:-3, 1.0:-3}>>) -> tensor<2x0x3x!quant.uniform<i8:f32:0, {0.5:-3, 0.75:-3}>> {
    %0 = "stablehlo.add"(%arg0, %arg1) : (tensor<2x0x3x!quant.uniform<i8:f32:0, {0.5:-3, 0.75:-3}>>, tensor<2x0x3x!quant.uniform<i8:f32:2, {0.5:-3, 0.75:-3, 1.0:-3}>>) -> tensor<2x0x3x!quant.uniform<i8:f32:0, {0.5:-3, 0.75:-3}>>
    "func.return"(%0) : (tensor<2x0x3x!quant.uniform<i8:f32:0, {0.5:-3, 0.75:-3}>>) -> ()
  }
}
// -----
// stablehlo.atan2 C1: baseline_type(lhs) = baseline_type(rhs) = baseline_type(result)
module {
  func.func @main(%arg0: tensor<2304xf64>, %arg1: tensor<2304xf32>) -> tensor<2304xf32> {
    %0 = "stablehlo.atan2"(%arg0, %arg1) : (tensor<2304xf64>, tensor<2304xf32>) -> tensor<2304xf32>
    "func.return"(%0) : (tensor<2304xf32>) -> ()
  }
}
// -----
// stablehlo.ceil C1: baseline_type(operand) = baseline_type(result)
module {
  func.func @main(%arg0: tensor<61xf64>) -> tensor<61xf32> {
    %0 = "stablehlo.ceil"(%arg0) : (tensor<61xf64>) -> tensor<61xf32>
    "func.return"(%0) : (tensor<61xf32>) -> ()
  }
}
// -----
// stablehlo.complex I1, with others: lhs has elements of type f32 or f64
module {
  func.func @main(%arg0: tensor<2304xf16>, %arg1: tensor<2304xf32>) -> tensor<2304xcomplex<f32>> {
    %0 = "stablehlo.complex"(%arg0, %arg1) : (tensor<2304xf16>, tensor<2304xf32>) -> tensor<2304xcomplex<f32>>
    "func.return"(%0) : (tensor<2304xcomplex<f32>>) -> ()
  }
}
// -----
// stablehlo.complex I2, with others: rhs has elements of type f32 or f64
module {
  func.func @main(%arg0: tensor<2304xf32>, %arg1: tensor<2304xf16>) -> tensor<2304xcomplex<f32>> {
    %0 = "stablehlo.complex"(%arg0, %arg1) : (tensor<2304xf32>, tensor<2304xf16>) -> tensor<2304xcomplex<f32>>
    "func.return"(%0) : (tensor<2304xcomplex<f32>>) -> ()
  }
}
// -----
// stablehlo.complex C1: type(lhs) = type(rhs)
module {
  func.func @main(%arg0: tensor<2305xf32>, %arg1: tensor<2304xf32>) -> tensor<2305xcomplex<f32>> {
    %0 = "stablehlo.complex"(%arg0, %arg1) : (tensor<2305xf32>, tensor<2304xf32>) -> tensor<2305xcomplex<f32>>
    "func.return"(%0) : (tensor<2305xcomplex<f32>>) -> ()
  }
}
// -----
// stablehlo.complex C2: shape(lhs) = shape(result)
module {
  func.func @main(%arg0: tensor<2304xf32>, %arg1: tensor<2304xf32>) -> tensor<2305xcomplex<f32>> {
    %0 = "stablehlo.complex"(%arg0, %arg1) : (tensor<2304xf32>, tensor<2304xf32>) -> tensor<2305xcomplex<f32>>
    "func.return"(%0) : (tensor<2305xcomplex<f32>>) -> ()
  }
}
// -----
// stablehlo.complex C3: element_type(result) = complex<element_type(lhs)>
module {
  func.func @main(%arg0: tensor<2304xf32>, %arg1: tensor<2304xf32>) -> tensor<2304xcomplex<f64>> {
    %0 = "stablehlo.complex"(%arg0, %arg1) : (tensor<2304xf32>, tensor<2304xf32>) -> tensor<2304xcomplex<f64>>
    "func.return"(%0) : (tensor<2304xcomplex<f64>>) -> ()
  }
}
// -----
// stablehlo.divide C1: baseline_type(lhs) = baseline_type(rhs) = baseline_type(result)
module {
  func.func @main(%arg0: tensor<2304xf64>, %arg1: tensor<2304xf32>) -> tensor<2304xf32> {
    %0 = "stablehlo.divide"(%arg0, %arg1) : (tensor<2304xf64>, tensor<2304xf32>) -> tensor<2304xf32>
    "func.return"(%0) : (tensor<2304xf32>) -> ()
  }
}
// -----
// stablehlo.floor C1: baseline_type(operand) = baseline_type(result)
module {
  func.func @main(%arg0: tensor<61xf64>) -> tensor<61xf32> {
    %0 = "stablehlo.floor"(%arg0) : (tensor<61xf64>) -> tensor<61xf32>
    "func.return"(%0) : (tensor<61xf32>) -> ()
  }
}
// -----
// stablehlo.imag C1: shape(operand) = shape(result)
module {
  func.func @main(%arg0: tensor<62xf32>) -> tensor<61xf32> {
    %0 = "stablehlo.imag"(%arg0) : (tensor<62xf32>) -> tensor<61xf32>
    "func.return"(%0) : (tensor<61xf32>) -> ()
  }
}
// -----
// stablehlo.imag C2: baseline_element_type(result) = baseline_element_type(operand), real for complex elements
module {
  func.func @main(%arg0: tensor<61xf64>) -> tensor<61xf32> {
    %0 = "stablehlo.imag"(%arg0) : (tensor<61xf64>) -> tensor<61xf32>
    "func.return"(%0) : (tensor<61xf32>) -> ()
  }
}
// -----
// stablehlo.real C1: shape(operand) = shape(result)
module {
  func.func @main(%arg0: tensor<62xf32>) -> tensor<61xf32> {
    %0 = "stablehlo.real"(%arg0) : (tensor<62xf32>) -> tensor<61xf32>
    "func.return"(%0) : (tensor<61xf32>) -> ()
  }
}
// -----
// stablehlo.real C2: baseline_element_type(result) = baseline_element_type(operand), real for complex elements
module {
  func.func @main(%arg0: tensor<61xf64>) -> tensor<61xf32> {
    %0 = "stablehlo.real"(%arg0) : (tensor<61xf64>) -> tensor<61xf32>
    "func.return"(%0) : (tensor<61xf32>) -> ()
  }
}
// -----
// stablehlo.multiply C1: baseline_type(lhs) = baseline_type(rhs) = baseline_type(result)
module {
  func.func @main(%arg0: tensor<2304xf64>, %arg1: tensor<2304xf32>) -> tensor<2304xf32> {
    %0 = "stablehlo.multiply"(%arg0, %arg1) : (tensor<2304xf64>, tensor<2304xf32>) -> tensor<2304xf32>
    "func.return"(%0) : (tensor<2304xf32>) -> ()
  }
}
// -----
// stablehlo.negate C1: baseline_type(operand) = baseline_type(result)
module {
  func.func @main(%arg0: tensor<61xf64>) -> tensor<61xf32> {
    %0 = "stablehlo.negate"(%arg0) : (tensor<61xf64>) -> tensor<61xf32>
    "func.return"(%0) : (tensor<61xf32>) -> ()
  }
}
// -----
// stablehlo.power C1: baseline_type(lhs) = baseline_type(rhs) = baseline_type(result)
module {
  func.func @main(%arg0: tensor<2304xf64>, %arg1: tensor<2304xf32>) -> tensor<2304xf32> {
    %0 = "stablehlo.power"(%arg0, %arg1) : (tensor<2304xf64>, tensor<2304xf32>) -> tensor<2304xf32>
    "func.return"(%0) : (tensor<2304xf32>) -> ()
  }
}
// -----
// stablehlo.remainder C1: baseline_type(lhs) = baseline_type(rhs) = baseline_type(result)
module {
  func.func @main(%arg0: tensor<2304xf64>, %arg1: tensor<2304xf32>) -> tensor<2304xf32> {
    %0 = "stablehlo.remainder"(%arg0, %arg1) : (tensor<2304xf64>, tensor<2304xf32>) -> tensor<2304xf32>
    "func.return"(%0) : (tensor<2304xf32>) -> ()
  }
}
// -----
// stablehlo.round_nearest_afz C1: baseline_type(operand) = baseline_type(result)
module {
  func.func @main(%arg0: tensor<61xf64>) -> tensor<61xf32> {
    %0 = "stablehlo.round_nearest_afz"(%arg0) : (tensor<61xf64>) -> tensor<61xf32>
    "func.return"(%0) : (tensor<61xf32>) -> ()
  }
}
// -----
// stablehlo.round_nearest_even C1: baseline_type(operand) = baseline_type(result)
module {
  func.func @main(%arg0: tensor<61xf64>) -> tensor<61xf32> {
    %0 = "stablehlo.round_nearest_even"(%arg0) : (tensor<61xf64>) -> tensor<61xf32>
    "func.return"(%0) : (tensor<61xf32>) -> ()
  }
}
// -----
// stablehlo.rsqrt C1: baseline_type(operand) = baseline_type(result)
module {
  func.func @main(%arg0: tensor<61xf64>) -> tensor<61xf32> {
    %0 = "stablehlo.rsqrt"(%arg0) : (tensor<61xf64>) -> tensor<61xf32>
    "func.return"(%0) : (tensor<61xf32>) -> ()
  }
}
// -----
// stablehlo.sign C1: baseline_type(operand) = baseline_type(result)
module {
  func.func @main(%arg0: tensor<61xf64>) -> tensor<61xf32> {
    %0 = "stablehlo.sign"(%arg0) : (tensor<61xf64>) -> tensor<61xf32>
    "func.return"(%0) : (tensor<61xf32>) -> ()
  }
}
// -----
// stablehlo.sqrt C1: baseline_type(operand) = baseline_type(result)
module {
  func.func @main(%arg0: tensor<61xf64>) -> tensor<61xf32> {
    %0 = "stablehlo.sqrt"(%arg0) : (tensor<61xf64>) -> tensor<61xf32>
    "func.return"(%0) : (tensor<61xf32>) -> ()
  }
}
// -----
// stablehlo.subtract C1: baseline_type(lhs) = baseline_type(rhs) = baseline_type(result)
module {
  func.func @main(%arg0: tensor<2304xf64>, %arg1: tensor<2304xf32>) -> tensor<2304xf32> {
    %0 = "stablehlo.subtract"(%arg0, %arg1) : (tensor<2304xf64>, tensor<2304xf32>) -> tensor<2304xf32>
    "func.return"(%0) : (tensor<2304xf32>) -> ()
  }
}
// -----
// stablehlo.cbrt C1: baseline_type(operand) = baseline_type(result)
module {
  func.func @main(%arg0: tensor<61xf64>) -> tensor<61xf32> {
    %0 = "stablehlo.cbrt"(%arg0) : (tensor<61xf64>) -> tensor<61xf32>
    "func.return"(%0) : (tensor<61xf32>) -> ()
  }
}
// -----
// stablehlo.cosine C1: baseline_type(operand) = baseline_type(result)
module {
  func.func @main(%arg0: tensor<61xf64>) -> tensor<61xf32> {
    %0 = "stablehlo.cosine"(%arg0) : (tensor<61xf64>) -> tensor<61xf32>
    "func.return"(%0) : (tensor<61xf32>) -> ()
  }
}
// -----
// stablehlo.exponential C1: baseline_type(operand) = baseline_type(result)
module {
  func.func @main(%arg0: tensor<61xf64>) -> tensor<61xf32> {
    %0 = "stablehlo.exponential"(%arg0) : (tensor<61xf64>) -> tensor<61xf32>
    "func.return"(%0) : (tensor<61xf32>) -> ()
  }
}
// -----
// stablehlo.exponential_minus_one C1: baseline_type(operand) = baseline_type(result)
module {
  func.func @main(%arg0: tensor<61xf64>) -> tensor<61xf32> {
    %0 = "stablehlo.exponential_minus_one"(%arg0) : (tensor<61xf64>) -> tensor<61xf32>
    "func.return"(%0) : (tensor<61xf32>) -> ()
  }
}
// -----
// stablehlo.log C1: baseline_type(operand) = baseline_type(result)
module {
  func.func @main(%arg0: tensor<61xf64>) -> tensor<61xf32> {
    %0 = "stablehlo.log"(%arg0) : (tensor<61xf64>) -> tensor<61xf32>
    "func.return"(%0) : (tensor<61xf32>) -> ()
  }
}
// -----
// stablehlo.log_plus_one C1: baseline_type(operand) = baseline_type(result)
module {
  func.func @main(%arg0: tensor<61xf64>) -> tensor<61xf32> {
    %0 = "stablehlo.log_plus_one"(%arg0) : (tensor<61xf64>) -> tensor<61xf32>
    "func.return"(%0) : (tensor<61xf32>) -> ()
  }
}
// -----
// stablehlo.logistic C1: baseline_type(operand) = baseline_type(result)
module {
  func.func @main(%arg0: tensor<61xf64>) -> tensor<61xf32> {
    %0 = "stablehlo.logistic"(%arg0) : (tensor<61xf64>) -> tensor<61xf32>
    "func.return"(%0) : (tensor<61xf32>) -> ()
  }
}
// -----
// stablehlo.sine C1: baseline_type(operand) = baseline_type(result)
module {
  func.func @main(%arg0: tensor<61xf64>) -> tensor<61xf32> {
    %0 = "stablehlo.sine"(%arg0) : (tensor<61xf64>) -> tensor<61xf32>
    "func.return"(%0) : (tensor<61xf32>) -> ()
  }
}
// -----
// stablehlo.tan C1: baseline_type(operand) = baseline_type(result)
module {
  func.func @main(%arg0: tensor<61xf64>) -> tensor<61xf32> {
    %0 = "stablehlo.tan"(%arg0) : (tensor<61xf64>) -> tensor<61xf32>
    "func.return"(%0) : (tensor<61xf32>) -> ()
  }
}
// -----
// stablehlo.tanh C1: baseline_type(operand) = baseline_type(result)
module {
  func.func @main(%arg0: tensor<61xf64>) -> tensor<61xf32> {
    %0 = "stablehlo.tanh"(%arg0) : (tensor<61xf64>) -> tensor<61xf32>
    "func.return"(%0) : (tensor<61xf32>) -> ()
  }
}
// -----
// stablehlo.and C1: baseline_type(lhs) = baseline_type(rhs) = baseline_type(result)
module {
  func.func @main(%arg0: tensor<400xi64>, %arg1: tensor<400xi32>) -> tensor<400xi32> {
    %0 = "stablehlo.and"(%arg0, %arg1) : (tensor<400xi64>, tensor<400xi32>) -> tensor<400xi32>
    "func.return"(%0) : (tensor<400xi32>) -> ()
  }
}
// -----
// stablehlo.count_leading_zeros C1: baseline_type(operand) = baseline_type(result)
module {
  func.func @main(%arg0: tensor<20xi64>) -> tensor<20xi32> {
    %0 = "stablehlo.count_leading_zeros"(%arg0) : (tensor<20xi64>) -> tensor<20xi32>
    "func.return"(%0) : (tensor<20xi32>) -> ()
  }
}
// -----
// stablehlo.not C1: baseline_type(operand) = baseline_type(result)
module {
  func.func @main(%arg0: tensor<20xi64>) -> tensor<20xi32> {
    %0 = "stablehlo.not"(%arg0) : (tensor<20xi64>) -> tensor<20xi32>
    "func.return"(%0) : (tensor<20xi32>) -> ()
  }
}
// -----
// stablehlo.or C1: baseline_type(lhs) = baseline_type(rhs) = baseline_type(result)
module {
  func.func @main(%arg0: tensor<400xi64>, %arg1: tensor<400xi32>) -> tensor<400xi32> {
    %0 = "stablehlo.or"(%arg0, %arg1) : (tensor<400xi64>, tensor<400xi32>) -> tensor<400xi32>
    "func.return"(%0) : (tensor<400xi32>) -> ()
  }
}
// -----
// stablehlo.popcnt C1: baseline_type(operand) = baseline_type(result)
module {
  func.func @main(%arg0: tensor<20xi64>) -> tensor<20xi32> {
    %0 = "stablehlo.popcnt"(%arg0) : (tensor<20xi64>) -> tensor<20xi32>
    "func.return"(%0) : (tensor<20xi32>) -> ()
  }
}
// -----
// stablehlo.shift_left C1: baseline_type(lhs) = baseline_type(rhs) = baseline_type(result)
module {
  func.func @main(%arg0: tensor<400xi64>, %arg1: tensor<400xi32>) -> tensor<400xi32> {
    %0 = "stablehlo.shift_left"(%arg0, %arg1) : (tensor<400xi64>, tensor<400xi32>) -> tensor<400xi32>
    "func.return"(%0) : (tensor<400xi32>) -> ()
  }
}
// -----
// stablehlo.shift_right_logical C1: baseline_type(lhs) = baseline_type(rhs) = baseline_type(result)
module {
  func.func @main(%arg0: tensor<400xi64>, %arg1: tensor<400xi32>) -> tensor<400xi32> {
    %0 = "stablehlo.shift_right_logical"(%arg0, %arg1) : (tensor<400xi64>, tensor<400xi32>) -> tensor<400xi32>
    "func.return"(%0) : (tensor<400xi32>) -> ()
  }
}
// -----
// stablehlo.shift_right_arithmetic C1: baseline_type(lhs) = baseline_type(rhs) = baseline_type(result)
module {
  func.func @main(%arg0: tensor<400xi64>, %arg1: tensor<400xi32>) -> tensor<400xi32> {
    %0 = "stablehlo.shift_right_arithmetic"(%arg0, %arg1) : (tensor<400xi64>, tensor<400xi32>) -> tensor<400xi32>
    "func.return"(%0) : (tensor<400xi32>) -> ()
  }
}
// -----
// stablehlo.xor C1: baseline_type(lhs) = baseline_type(rhs) = baseline_type(result)
module {
  func.func @main(%arg0: tensor<400xi64>, %arg1: tensor<400xi32>) -> tensor<400xi32> {
    %0 = "stablehlo.xor"(%arg0, %arg1) : (tensor<400xi64>, tensor<400xi32>) -> tensor<400xi32>
    "func.return"(%0) : (tensor<400xi32>) -> ()
  }
}
// -----
// stablehlo.compare C1: baseline_element_type(lhs) = baseline_element_type(rhs)
module {
  func.func @main(%arg0: tensor<2304xf64>, %arg1: tensor<2304xf32>) -> tensor<2304xi1> {
    %0 = "stablehlo.compare"(%arg0, %arg1) {compare_type = #stablehlo<comparison_type FLOAT>, comparison_direction = #stablehlo<comparison_direction EQ>} : (tensor<2304xf64>, tensor<2304xf32>) -> tensor<2304xi1>
    "func.return"(%0) : (tensor<2304xi1>) -> ()
  }
}
// -----
// stablehlo.compare C2: shape(lhs) = shape(rhs) = shape(result)
module {
  func.func @main(%arg0: tensor<2305xf32>, %arg1: tensor<2304xf32>) -> tensor<2304xi1> {
    %0 = "stablehlo.compare"(%arg0, %arg1) {compare_type = #stablehlo<comparison_type FLOAT>, comparison_direction = #stablehlo<comparison_direction EQ>} : (tensor<2305xf32>, tensor<2304xf32>) -> tensor<2304xi1>
    "func.return"(%0) : (tensor<2304xi1>) -> ()
  }
}
// -----
// stablehlo.compare C3: compare_type is absent, or SIGNED, UNSIGNED, FLOAT or TOTALORDER as element_type(lhs) requires
module {
  func.func @main(%arg0: tensor<2304xf32>, %arg1: tensor<2304xf32>) -> tensor<2304xi1> {
    %0 = "stablehlo.compare"(%arg0, %arg1) {compare_type = #stablehlo<comparison_type SIGNED>, comparison_direction = #stablehlo<comparison_direction EQ>} : (tensor<2304xf32>, tensor<2304xf32>) -> tensor<2304xi1>
    "func.return"(%0) : (tensor<2304xi1>) -> ()
  }
}
// -----
// stablehlo.is_finite C1: shape(x) = shape(y)
module {
  func.func @main(%arg0: tensor<62xf32>) -> tensor<61xi1> {
    %0 = "stablehlo.is_finite"(%arg0) : (tensor<62xf32>) -> tensor<61xi1>
    "func.return"(%0) : (tensor<61xi1>) -> ()
  }
}
// -----
// stablehlo.maximum C1: baseline_type(lhs) = baseline_type(rhs) = baseline_type(result)
module {
  func.func @main(%arg0: tensor<2304xf64>, %arg1: tensor<2304xf32>) -> tensor<2304xf32> {
    %0 = "stablehlo.maximum"(%arg0, %arg1) : (tensor<2304xf64>, tensor<2304xf32>) -> tensor<2304xf32>
    "func.return"(%0) : (tensor<2304xf32>) -> ()
  }
}
// -----
// stablehlo.minimum C1: baseline_type(lhs) = baseline_type(rhs) = baseline_type(result)
module {
  func.func @main(%arg0: tensor<2304xf64>, %arg1: tensor<2304xf32>) -> tensor<2304xf32> {
    %0 = "stablehlo.minimum"(%arg0, %arg1) : (tensor<2304xf64>, tensor<2304xf32>) -> tensor<2304xf32>
    "func.return"(%0) : (tensor<2304xf32>) -> ()
  }
}
// -----
// stablehlo.clamp C1: rank(min) = 0 or shape(operand) = shape(min)
module {
  func.func @main(%arg0: tensor<2305xf32>, %arg1: tensor<2304xf32>, %arg2: tensor<2304xf32>) -> tensor<2304xf32> {
    %0 = "stablehlo.clamp"(%arg0, %arg1, %arg2) : (tensor<2305xf32>, tensor<2304xf32>, tensor<2304xf32>) -> tensor<2304xf32>
    "func.return"(%0) : (tensor<2304xf32>) -> ()
  }
}
// -----
// stablehlo.clamp C2: rank(max) = 0 or shape(operand) = shape(max)
module {
  func.func @main(%arg0: tensor<2304xf32>, %arg1: tensor<2304xf32>, %arg2: tensor<2305xf32>) -> tensor<2304xf32> {
    %0 = "stablehlo.clamp"(%arg0, %arg1, %arg2) : (tensor<2304xf32>, tensor<2304xf32>, tensor<2305xf32>) -> tensor<2304xf32>
    "func.return"(%0) : (tensor<2304xf32>) -> ()
  }
}
// -----
// stablehlo.clamp C3: baseline_element_type(operand) = baseline_element_type(min) = baseline_element_type(max)
module {
  func.func @main(%arg0: tensor<2304xf64>, %arg1: tensor<2304xf32>, %arg2: tensor<2304xf32>) -> tensor<2304xf32> {
    %0 = "stablehlo.clamp"(%arg0, %arg1, %arg2) : (tensor<2304xf64>, tensor<2304xf32>, tensor<2304xf32>) -> tensor<2304xf32>
    "func.return"(%0) : (tensor<2304xf32>) -> ()
  }
}
// -----
// stablehlo.clamp C4: baseline_type(operand) = baseline_type(result)
module {
  func.func @main(%arg0: tensor<2304xf32>, %arg1: tensor<2304xf32>, %arg2: tensor<2304xf32>) -> tensor<2304xf64> {
    %0 = "stablehlo.clamp"(%arg0, %arg1, %arg2) : (tensor<2304xf32>, tensor<2304xf32>, tensor<2304xf32>) -> tensor<2304xf64>
    "func.return"(%0) : (tensor<2304xf64>) -> ()
  }
}
// -----
// stablehlo.select C1: rank(pred) = 0 or shape(on_true) = shape(pred)
module {
  func.func @main(%arg0: tensor<41xi1>, %arg1: tensor<40xf32>, %arg2: tensor<40xf32>) -> tensor<40xf32> {
    %0 = "stablehlo.select"(%arg0, %arg1, %arg2) : (tensor<41xi1>, tensor<40xf32>, tensor<40xf32>) -> tensor<40xf32>
    "func.return"(%0) : (tensor<40xf32>) -> ()
  }
}
// -----
// stablehlo.select C2: baseline_type(on_true) = baseline_type(on_false) = baseline_type(result)
module {
  func.func @main(%arg0: tensor<40xi1>, %arg1: tensor<40xf64>, %arg2: tensor<40xf32>) -> tensor<40xf32> {
    %0 = "stablehlo.select"(%arg0, %arg1, %arg2) : (tensor<40xi1>, tensor<40xf64>, tensor<40xf32>) -> tensor<40xf32>
    "func.return"(%0) : (tensor<40xf32>) -> ()
  }
}
// -----
// stablehlo.convert C1: shape(operand) = shape(result)
module {
  func.func @main(%arg0: tensor<62xf32>) -> tensor<61xi1> {
    %0 = "stablehlo.convert"(%arg0) : (tensor<62xf32>) -> tensor<61xi1>
    "func.return"(%0) : (tensor<61xi1>) -> ()
  }
}
// -----
// stablehlo.uniform_quantize C1: shape(operand) = shape(result)
module {
  func.func @main(%arg0: tensor<1xf32>) -> tensor<!quant.uniform<i8:f32, 0.5:-3>> {
    %0 = "stablehlo.uniform_quantize"(%arg0) : (tensor<1xf32>) -> tensor<!quant.uniform<i8:f32, 0.5:-3>>
    "func.return"(%0) : (tensor<!quant.uniform<i8:f32, 0.5:-3>>) -> ()
  }
}
// -----
// stablehlo.uniform_quantize C2: expressed_type(operand) = expressed_type(result); a type that is not quantized expresses itself
module {
  func.func @main(%arg0: tensor<f64>) -> tensor<!quant.uniform<i8:f32, 0.5:-3>> {
    %0 = "stablehlo.uniform_quantize"(%arg0) : (tensor<f64>) -> tensor<!quant.uniform<i8:f32, 0.5:-3>>
    "func.return"(%0) : (tensor<!quant.uniform<i8:f32, 0.5:-3>>) -> ()
  }
}
// -----
// stablehlo.uniform_dequantize C1: shape(operand) = shape(result)
module {
  func.func @main(%arg0: tensor<1x!quant.uniform<i8:f32, 0.5:-3>>) -> tensor<f32> {
    %0 = "stablehlo.uniform_dequantize"(%arg0) : (tensor<1x!quant.uniform<i8:f32, 0.5:-3>>) -> tensor<f32>
    "func.return"(%0) : (tensor<f32>) -> ()
  }
}
// -----
// stablehlo.uniform_dequantize C2: expressed_type(operand) = expressed_type(result); a type that is not quantized expresses itself
module {
  func.func @main(%arg0: tensor<!quant.uniform<i8:f64, 0.5:-3>>) -> tensor<f32> {
    %0 = "stablehlo.uniform_dequantize"(%arg0) : (tensor<!quant.uniform<i8:f64, 0.5:-3>>) -> tensor<f32>
    "func.return"(%0) : (tensor<f32>) -> ()
  }
}
// -----
// stablehlo.reduce_precision C1: baseline_type(operand) = baseline_type(output)
module {
  func.func @main(%arg0: tensor<61xf64>) -> tensor<61xf32> {
    %0 = "stablehlo.reduce_precision"(%arg0) {exponent_bits = 8 : i32, mantissa_bits = 7 : i32} : (tensor<61xf64>) -> tensor<61xf32>
    "func.return"(%0) : (tensor<61xf32>) -> ()
  }
}
// -----
// stablehlo.reduce_precision C2: 1 <= exponent_bits
module {
  func.func @main(%arg0: tensor<61xf32>) -> tensor<61xf32> {
    %0 = "stablehlo.reduce_precision"(%arg0) {exponent_bits = 0 : i32, mantissa_bits = 7 : i32} : (tensor<61xf32>) -> tensor<61xf32>
    "func.return"(%0) : (tensor<61xf32>) -> ()
  }
}
// -----
// stablehlo.reduce_precision C3: 0 <= mantissa_bits
module {
  func.func @main(%arg0: tensor<61xf32>) -> tensor<61xf32> {
    %0 = "stablehlo.reduce_precision"(%arg0) {exponent_bits = 8 : i32, mantissa_bits = -1 : i32} : (tensor<61xf32>) -> tensor<61xf32>
    "func.return"(%0) : (tensor<61xf32>) -> ()
  }
}
// -----
// stablehlo.bitcast_convert C1: shape(result) = shape(operand) except for a last dimension that makes up for differing widths
module {
  func.func @main(%arg0: tensor<61xf64>) -> tensor<61x32xi1> {
    %0 = "stablehlo.bitcast_convert"(%arg0) : (tensor<61xf64>) -> tensor<61x32xi1>
    "func.return"(%0) : (tensor<61x32xi1>) -> ()
  }
}
// -----
// stablehlo.bitcast_convert C2: is_complex(operand) = is_complex(result)
module {
  func.func @main(%arg0: tensor<30x2xf32>) -> tensor<30xcomplex<f32>> {
    %0 = "stablehlo.bitcast_convert"(%arg0) : (tensor<30x2xf32>) -> tensor<30xcomplex<f32>>
    "func.return"(%0) : (tensor<30xcomplex<f32>>) -> ()
  }
}
// -----
// stablehlo.constant C1: type(value) = type(output); quantized tensors are given by their stored values
module {
  func.func @main() -> tensor<f64> {
    %0 = "stablehlo.constant"() {value = dense<0.6911683678627014> : tensor<f32>} : () -> tensor<f64>
    "func.return"(%0) : (tensor<f64>) -> ()
  }
}
// -----
// stablehlo.iota C1: 0 <= iota_dimension < rank(output)
module {
  func.func @main() -> tensor<1xf32> {
    %0 = "stablehlo.iota"() {iota_dimension = 1 : i64} : () -> tensor<1xf32>
    "func.return"(%0) : (tensor<1xf32>) -> ()
  }
}
// -----
// stablehlo.concatenate C1: same(element_type(inputs...))
module {
  func.func @main(%arg0: tensor<2x3xf64>, %arg1: tensor<1x3xf32>, %arg2: tensor<2x3xf32>) -> tensor<5x3xf64> {
    %0 = "stablehlo.concatenate"(%arg0, %arg1, %arg2) {dimension = 0 : i64} : (tensor<2x3xf64>, tensor<1x3xf32>, tensor<2x3xf32>) -> tensor<5x3xf64>
    "func.return"(%0) : (tensor<5x3xf64>) -> ()
  }
}
// -----
// stablehlo.concatenate C2: same(shape(inputs...)) except for dim(inputs..., dimension)
module {
  func.func @main(%arg0: tensor<2x3xf32>, %arg1: tensor<1x3xf32>, %arg2: tensor<2x3xf32>) -> tensor<2x9xf32> {
    %0 = "stablehlo.concatenate"(%arg0, %arg1, %arg2) {dimension = 1 : i64} : (tensor<2x3xf32>, tensor<1x3xf32>, tensor<2x3xf32>) -> tensor<2x9xf32>
    "func.return"(%0) : (tensor<2x9xf32>) -> ()
  }
}
// -----
// stablehlo.concatenate C3, with others: 0 < size(inputs)
module {
  func.func @main() -> tensor<5x3xf32> {
    %0 = "stablehlo.concatenate"() {dimension = 0 : i64} : () -> tensor<5x3xf32>
    "func.return"(%0) : (tensor<5x3xf32>) -> ()
  }
}
// -----
// stablehlo.concatenate C4: 0 <= dimension < rank(inputs[0])
module {
  func.func @main(%arg0: tensor<0xf32>, %arg1: tensor<0xf32>) -> tensor<0xf32> {
    %0 = "stablehlo.concatenate"(%arg0, %arg1) {dimension = 1 : i64} : (tensor<0xf32>, tensor<0xf32>) -> tensor<0xf32>
    "func.return"(%0) : (tensor<0xf32>) -> ()
  }
}
// -----
// stablehlo.concatenate C5: element_type(inputs[0]) = element_type(result)
module {
  func.func @main(%arg0: tensor<2x3xf32>, %arg1: tensor<1x3xf32>, %arg2: tensor<2x3xf32>) -> tensor<5x3xf64> {
    %0 = "stablehlo.concatenate"(%arg0, %arg1, %arg2) {dimension = 0 : i64} : (tensor<2x3xf32>, tensor<1x3xf32>, tensor<2x3xf32>) -> tensor<5x3xf64>
    "func.return"(%0) : (tensor<5x3xf64>) -> ()
  }
}
// -----
// stablehlo.concatenate C6: shape(result) = the joined shape
module {
  func.func @main(%arg0: tensor<3x3xf32>, %arg1: tensor<1x3xf32>, %arg2: tensor<2x3xf32>) -> tensor<5x3xf32> {
    %0 = "stablehlo.concatenate"(%arg0, %arg1, %arg2) {dimension = 0 : i64} : (tensor<3x3xf32>, tensor<1x3xf32>, tensor<2x3xf32>) -> tensor<5x3xf32>
    "func.return"(%0) : (tensor<5x3xf32>) -> ()
  }
}
// -----
// stablehlo.reshape C1: element_type(result) = element_type(operand), except for a quantization axis
module {
  func.func @main(%arg0: tensor<6xf64>) -> tensor<2x3xf32> {
    %0 = "stablehlo.reshape"(%arg0) : (tensor<6xf64>) -> tensor<2x3xf32>
    "func.return"(%0) : (tensor<2x3xf32>) -> ()
  }
}
// -----
// stablehlo.reshape C2: size(operand) = size(result)
module {
  func.func @main(%arg0: tensor<7xf32>) -> tensor<2x3xf32> {
    %0 = "stablehlo.reshape"(%arg0) : (tensor<7xf32>) -> tensor<2x3xf32>
    "func.return"(%0) : (tensor<2x3xf32>) -> ()
  }
}
// -----
// stablehlo.reshape C3: a quantized axis keeps its size, and as many elements before and after it
module {
  func.func @main(%arg0: tensor<2x3x!quant.uniform<i8:f32:1, {0.5:-3, 0.75:-3, 1.0:-3}>>) -> tensor<3x2x!quant.uniform<i8:f32:0, {0.5:-3, 0.75:-3, 1.0:-3}>> {
    %0 = "stablehlo.reshape"(%arg0) : (tensor<2x3x!quant.uniform<i8:f32:1, {0.5:-3, 0.75:-3, 1.0:-3}>>) -> tensor<3x2x!quant.uniform<i8:f32:0, {0.5:-3, 0.75:-3, 1.0:-3}>>
    "func.return"(%0) : (tensor<3x2x!quant.uniform<i8:f32:0, {0.5:-3, 0.75:-3, 1.0:-3}>>) -> ()
  }
}
// -----
// stablehlo.reverse C1: type(operand) = type(result)
module {
  func.func @main(%arg0: tensor<3x4xf64>) -> tensor<3x4xf32> {
    %0 = "stablehlo.reverse"(%arg0) {dimensions = array<i64: 1>} : (tensor<3x4xf64>) -> tensor<3x4xf32>
    "func.return"(%0) : (tensor<3x4xf32>) -> ()
  }
}
// -----
// stablehlo.reverse C2: is_unique(dimensions)
module {
  func.func @main(%arg0: tensor<3x4xf32>) -> tensor<3x4xf32> {
    %0 = "stablehlo.reverse"(%arg0) {dimensions = array<i64: 1, 1>} : (tensor<3x4xf32>) -> tensor<3x4xf32>
    "func.return"(%0) : (tensor<3x4xf32>) -> ()
  }
}
// -----
// stablehlo.reverse C3: 0 <= dimensions < rank(result)
module {
  func.func @main(%arg0: tensor<3x4xf32>) -> tensor<3x4xf32> {
    %0 = "stablehlo.reverse"(%arg0) {dimensions = array<i64: 2>} : (tensor<3x4xf32>) -> tensor<3x4xf32>
    "func.return"(%0) : (tensor<3x4xf32>) -> ()
  }
}
// -----
// stablehlo.transpose C1: element_type(result) = element_type(operand), except for a quantization axis
module {
  func.func @main(%arg0: tensor<2x3x4xf64>) -> tensor<2x3x4xf32> {
    %0 = "stablehlo.transpose"(%arg0) {permutation = array<i64: 0, 1, 2>} : (tensor<2x3x4xf64>) -> tensor<2x3x4xf32>
    "func.return"(%0) : (tensor<2x3x4xf32>) -> ()
  }
}
// -----
// stablehlo.transpose C2: permutation is a permutation of range(rank(operand))
module {
  func.func @main(%arg0: tensor<2x3x4xf32>) -> tensor<3x3x4xf32> {
    %0 = "stablehlo.transpose"(%arg0) {permutation = array<i64: 1, 1, 2>} : (tensor<2x3x4xf32>) -> tensor<3x3x4xf32>
    "func.return"(%0) : (tensor<3x3x4xf32>) -> ()
  }
}
// -----
// stablehlo.transpose C3: shape(result) = dim(operand, permutation...)
module {
  func.func @main(%arg0: tensor<2x3x4xf32>) -> tensor<2x3x4xf32> {
    %0 = "stablehlo.transpose"(%arg0) {permutation = array<i64: 1, 0, 2>} : (tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
    "func.return"(%0) : (tensor<2x3x4xf32>) -> ()
  }
}
// -----
// stablehlo.transpose C4: quantization_dimension(operand) = permutation[quantization_dimension(result)]
module {
  func.func @main(%arg0: tensor<2x2x!quant.uniform<i8:f32:0, {0.5:-3, 0.75:-3}>>) -> tensor<2x2x!quant.uniform<i8:f32:0, {0.5:-3, 0.75:-3}>> {
    %0 = "stablehlo.transpose"(%arg0) {permutation = array<i64: 1, 0>} : (tensor<2x2x!quant.uniform<i8:f32:0, {0.5:-3, 0.75:-3}>>) -> tensor<2x2x!quant.uniform<i8:f32:0, {0.5:-3, 0.75:-3}>>
    "func.return"(%0) : (tensor<2x2x!quant.uniform<i8:f32:0, {0.5:-3, 0.75:-3}>>) -> ()
  }
}
// -----
// stablehlo.pad C1: element_type(operand) = element_type(padding_value) = element_type(result)
module {
  func.func @main(%arg0: tensor<2x3xf64>, %arg1: tensor<f32>) -> tensor<6x10xf32> {
    %0 = "stablehlo.pad"(%arg0, %arg1) {edge_padding_high = array<i64: 2, 3>, edge_padding_low = array<i64: 1, 0>, interior_padding = array<i64: 1, 2>} : (tensor<2x3xf64>, tensor<f32>) -> tensor<6x10xf32>
    "func.return"(%0) : (tensor<6x10xf32>) -> ()
  }
}
// -----
// stablehlo.pad C2: size(edge_padding_low) = size(edge_padding_high) = size(interior_padding) = rank(operand)
module {
  func.func @main(%arg0: tensor<2x3xf32>, %arg1: tensor<f32>) -> tensor<6xf32> {
    %0 = "stablehlo.pad"(%arg0, %arg1) {edge_padding_high = array<i64: 2, 3>, edge_padding_low = array<i64: 1>, interior_padding = array<i64: 1, 2>} : (tensor<2x3xf32>, tensor<f32>) -> tensor<6xf32>
    "func.return"(%0) : (tensor<6xf32>) -> ()
  }
}
// -----
// stablehlo.pad C3: 0 <= interior_padding
module {
  func.func @main(%arg0: tensor<2x3xf32>, %arg1: tensor<f32>) -> tensor<4x10xf32> {
    %0 = "stablehlo.pad"(%arg0, %arg1) {edge_padding_high = array<i64: 2, 3>, edge_padding_low = array<i64: 1, 0>, interior_padding = array<i64: -1, 2>} : (tensor<2x3xf32>, tensor<f32>) -> tensor<4x10xf32>
    "func.return"(%0) : (tensor<4x10xf32>) -> ()
  }
}
// -----
// stablehlo.pad C4: shape(result) = shape(operand) + edge paddings + max(shape(operand) - 1, 0) * interior_padding
module {
  func.func @main(%arg0: tensor<2x3xf32>, %arg1: tensor<f32>) -> tensor<6x10xf32> {
    %0 = "stablehlo.pad"(%arg0, %arg1) {edge_padding_high = array<i64: 2, 3>, edge_padding_low = array<i64: 2, 0>, interior_padding = array<i64: 1, 2>} : (tensor<2x3xf32>, tensor<f32>) -> tensor<6x10xf32>
    "func.return"(%0) : (tensor<6x10xf32>) -> ()
  }
}
// -----
// stablehlo.slice C1: element_type(operand) = element_type(result)
module {
  func.func @main(%arg0: tensor<5x7xf64>) -> tensor<2x2xf32> {
    %0 = "stablehlo.slice"(%arg0) {limit_indices = array<i64: 5, 6>, start_indices = array<i64: 1, 0>, strides = array<i64: 2, 3>} : (tensor<5x7xf64>) -> tensor<2x2xf32>
    "func.return"(%0) : (tensor<2x2xf32>) -> ()
  }
}
// -----
// stablehlo.slice C2: size(start_indices) = size(limit_indices) = size(strides) = rank(operand)
module {
  func.func @main(%arg0: tensor<5x7xf32>) -> tensor<2xf32> {
    %0 = "stablehlo.slice"(%arg0) {limit_indices = array<i64: 5, 6>, start_indices = array<i64: 1>, strides = array<i64: 2, 3>} : (tensor<5x7xf32>) -> tensor<2xf32>
    "func.return"(%0) : (tensor<2xf32>) -> ()
  }
}
// -----
// stablehlo.slice C3: 0 <= start_indices <= limit_indices <= shape(operand)
module {
  func.func @main(%arg0: tensor<5x7xf32>) -> tensor<3x2xf32> {
    %0 = "stablehlo.slice"(%arg0) {limit_indices = array<i64: 5, 6>, start_indices = array<i64: -1, 0>, strides = array<i64: 2, 3>} : (tensor<5x7xf32>) -> tensor<3x2xf32>
    "func.return"(%0) : (tensor<3x2xf32>) -> ()
  }
}
// -----
// stablehlo.slice C4: 0 < strides
module {
  func.func @main(%arg0: tensor<5x7xf32>) -> tensor<2x2xf32> {
    %0 = "stablehlo.slice"(%arg0) {limit_indices = array<i64: 5, 6>, start_indices = array<i64: 1, 0>, strides = array<i64: -1, 3>} : (tensor<5x7xf32>) -> tensor<2x2xf32>
    "func.return"(%0) : (tensor<2x2xf32>) -> ()
  }
}
// -----
// stablehlo.slice C5: shape(result) = ceil((limit_indices - start_indices) / strides)
module {
  func.func @main(%arg0: tensor<5x7xf32>) -> tensor<2x2xf32> {
    %0 = "stablehlo.slice"(%arg0) {limit_indices = array<i64: 5, 6>, start_indices = array<i64: 0, 0>, strides = array<i64: 2, 3>} : (tensor<5x7xf32>) -> tensor<2x2xf32>
    "func.return"(%0) : (tensor<2x2xf32>) -> ()
  }
}
// -----
// stablehlo.broadcast_in_dim C1: element_type(result) = element_type(operand), except for a quantization axis, scales and zero points
module {
  func.func @main(%arg0: tensor<2x3xf64>) -> tensor<3x4x2xf32> {
    %0 = "stablehlo.broadcast_in_dim"(%arg0) {broadcast_dimensions = array<i64: 2, 0>} : (tensor<2x3xf64>) -> tensor<3x4x2xf32>
    "func.return"(%0) : (tensor<3x4x2xf32>) -> ()
  }
}
// -----
// stablehlo.broadcast_in_dim C2: size(broadcast_dimensions) = rank(operand)
module {
  func.func @main(%arg0: tensor<2x3xf32>) -> tensor<3x4x2xf32> {
    %0 = "stablehlo.broadcast_in_dim"(%arg0) {broadcast_dimensions = array<i64: 2>} : (tensor<2x3xf32>) -> tensor<3x4x2xf32>
    "func.return"(%0) : (tensor<3x4x2xf32>) -> ()
  }
}
// -----
// stablehlo.broadcast_in_dim C3: 0 <= broadcast_dimensions < rank(result)
module {
  func.func @main(%arg0: tensor<2x3xf32>) -> tensor<3x4x2xf32> {
    %0 = "stablehlo.broadcast_in_dim"(%arg0) {broadcast_dimensions = array<i64: 3, 0>} : (tensor<2x3xf32>) -> tensor<3x4x2xf32>
    "func.return"(%0) : (tensor<3x4x2xf32>) -> ()
  }
}
// -----
// stablehlo.broadcast_in_dim C4: is_unique(broadcast_dimensions)
module {
  func.func @main(%arg0: tensor<2x1xf32>) -> tensor<2x3xf32> {
    %0 = "stablehlo.broadcast_in_dim"(%arg0) {broadcast_dimensions = array<i64: 0, 0>} : (tensor<2x1xf32>) -> tensor<2x3xf32>
    "func.return"(%0) : (tensor<2x3xf32>) -> ()
  }
}
// -----
// stablehlo.broadcast_in_dim C5: dim(operand, d) is 1 or dim(result, broadcast_dimensions[d]), for all d
module {
  func.func @main(%arg0: tensor<2x3xf32>) -> tensor<3x4x2xf32> {
    %0 = "stablehlo.broadcast_in_dim"(%arg0) {broadcast_dimensions = array<i64: 1, 0>} : (tensor<2x3xf32>) -> tensor<3x4x2xf32>
    "func.return"(%0) : (tensor<3x4x2xf32>) -> ()
  }
}
// -----
// stablehlo.broadcast_in_dim C6: a per-axis quantized result has the operand's axis, moved, and its parameters
module {
  func.func @main(%arg0: tensor<2x3x!quant.uniform<i8:f32:0, {0.5:-3, 0.75:-3}>>) -> tensor<3x4x2x!quant.uniform<i8:f32:0, {0.5:-3, 0.75:-3, 1.0:-3}>> {
    %0 = "stablehlo.broadcast_in_dim"(%arg0) {broadcast_dimensions = array<i64: 2, 0>} : (tensor<2x3x!quant.uniform<i8:f32:0, {0.5:-3, 0.75:-3}>>) -> tensor<3x4x2x!quant.uniform<i8:f32:0, {0.5:-3, 0.75:-3, 1.0:-3}>>
    "func.return"(%0) : (tensor<3x4x2x!quant.uniform<i8:f32:0, {0.5:-3, 0.75:-3, 1.0:-3}>>) -> ()
  }
}
// -----
// stablehlo.broadcast C1: element_type(operand) = element_type(result)
module {
  func.func @main(%arg0: tensor<2x3xf64>) -> tensor<4x2x3xf32> {
    %0 = "stablehlo.broadcast"(%arg0) {broadcast_sizes = array<i64: 4>} : (tensor<2x3xf64>) -> tensor<4x2x3xf32>
    "func.return"(%0) : (tensor<4x2x3xf32>) -> ()
  }
}
// -----
// stablehlo.broadcast C2: 0 <= broadcast_sizes
module {
  func.func @main(%arg0: tensor<2x3xf32>) -> tensor<4x2x3xf32> {
    %0 = "stablehlo.broadcast"(%arg0) {broadcast_sizes = array<i64: -1>} : (tensor<2x3xf32>) -> tensor<4x2x3xf32>
    "func.return"(%0) : (tensor<4x2x3xf32>) -> ()
  }
}
// -----
// stablehlo.broadcast C3: shape(result) = concatenate(broadcast_sizes, shape(operand))
module {
  func.func @main(%arg0: tensor<2x3xf32>) -> tensor<4x2x3xf32> {
    %0 = "stablehlo.broadcast"(%arg0) {broadcast_sizes = array<i64: 5>} : (tensor<2x3xf32>) -> tensor<4x2x3xf32>
    "func.return"(%0) : (tensor<4x2x3xf32>) -> ()
  }
}
// -----
// stablehlo.dynamic_broadcast_in_dim C1: element_type(result) = element_type(operand), except for a quantization axis, scales and zero points
module {
  func.func @main(%arg0: tensor<1x3xf64>) -> tensor<2x3x4xf32> {
    %0 = "stablehlo.constant"() {value = dense<[2, 3, 4]> : tensor<3xi64>} : () -> tensor<3xi64>
    %1 = "stablehlo.dynamic_broadcast_in_dim"(%arg0, %0) {broadcast_dimensions = array<i64: 0, 1>} : (tensor<1x3xf64>, tensor<3xi64>) -> tensor<2x3x4xf32>
    "func.return"(%1) : (tensor<2x3x4xf32>) -> ()
  }
}
// -----
// stablehlo.dynamic_broadcast_in_dim C2: size(broadcast_dimensions) = rank(operand)
module {
  func.func @main(%arg0: tensor<1x3xf32>) -> tensor<2x3x4xf32> {
    %0 = "stablehlo.constant"() {value = dense<[2, 3, 4]> : tensor<3xi64>} : () -> tensor<3xi64>
    %1 = "stablehlo.dynamic_broadcast_in_dim"(%arg0, %0) {broadcast_dimensions = array<i64: 0>, known_expanding_dimensions = array<i64>, known_nonexpanding_dimensions = array<i64>} : (tensor<1x3xf32>, tensor<3xi64>) -> tensor<2x3x4xf32>
    "func.return"(%1) : (tensor<2x3x4xf32>) -> ()
  }
}
// -----
// stablehlo.dynamic_broadcast_in_dim C3: 0 <= broadcast_dimensions < rank(result)
module {
  func.func @main(%arg0: tensor<1x3xf32>) -> tensor<2x3x4xf32> {
    %0 = "stablehlo.constant"() {value = dense<[2, 3, 4]> : tensor<3xi64>} : () -> tensor<3xi64>
    %1 = "stablehlo.dynamic_broadcast_in_dim"(%arg0, %0) {broadcast_dimensions = array<i64: -1, 1>, known_expanding_dimensions = array<i64>, known_nonexpanding_dimensions = array<i64>} : (tensor<1x3xf32>, tensor<3xi64>) -> tensor<2x3x4xf32>
    "func.return"(%1) : (tensor<2x3x4xf32>) -> ()
  }
}
// -----
// stablehlo.dynamic_broadcast_in_dim C4: is_unique(broadcast_dimensions)
module {
  func.func @main(%arg0: tensor<1x3xf32>) -> tensor<2x3x4xf32> {
    %0 = "stablehlo.constant"() {value = dense<[2, 3, 4]> : tensor<3xi64>} : () -> tensor<3xi64>
    %1 = "stablehlo.dynamic_broadcast_in_dim"(%arg0, %0) {broadcast_dimensions = array<i64: 1, 1>, known_expanding_dimensions = array<i64>, known_nonexpanding_dimensions = array<i64>} : (tensor<1x3xf32>, tensor<3xi64>) -> tensor<2x3x4xf32>
    "func.return"(%1) : (tensor<2x3x4xf32>) -> ()
  }
}
// -----
// stablehlo.dynamic_broadcast_in_dim C5: dim(operand, d) is 1 or dim(result, broadcast_dimensions[d]), for all d
module {
  func.func @main(%arg0: tensor<1x3xf32>) -> tensor<2x3x4xf32> {
    %0 = "stablehlo.constant"() {value = dense<[2, 3, 4]> : tensor<3xi64>} : () -> tensor<3xi64>
    %1 = "stablehlo.dynamic_broadcast_in_dim"(%arg0, %0) {broadcast_dimensions = array<i64: 0, 2>, known_expanding_dimensions = array<i64>, known_nonexpanding_dimensions = array<i64>} : (tensor<1x3xf32>, tensor<3xi64>) -> tensor<2x3x4xf32>
    "func.return"(%1) : (tensor<2x3x4xf32>) -> ()
  }
}
// -----
// stablehlo.dynamic_broadcast_in_dim C6: a per-axis quantized result has the operand's axis, moved, and its parameters
module {
  func.func @main(%arg0: tensor<1x3x!quant.uniform<i8:f32:0, {0.5:-3}>>) -> tensor<2x3x4x!quant.uniform<i8:f32:0, {0.5:-3, 0.75:-3}>> {
    %0 = "stablehlo.constant"() {value = dense<[2, 3, 4]> : tensor<3xi64>} : () -> tensor<3xi64>
    %1 = "stablehlo.dynamic_broadcast_in_dim"(%arg0, %0) {broadcast_dimensions = array<i64: 0, 1>} : (tensor<1x3x!quant.uniform<i8:f32:0, {0.5:-3}>>, tensor<3xi64>) -> tensor<2x3x4x!quant.uniform<i8:f32:0, {0.5:-3, 0.75:-3}>>
    "func.return"(%1) : (tensor<2x3x4x!quant.uniform<i8:f32:0, {0.5:-3, 0.75:-3}>>) -> ()
  }
}
// -----
// stablehlo.dynamic_broadcast_in_dim C7: size(output_dimensions) = rank(result), and output_dimensions is the shape of result
module {
  func.func @main(%arg0: tensor<1x3xf32>) -> tensor<2x3x4xf32> {
    %0 = "stablehlo.constant"() {value = dense<[3, 3, 4]> : tensor<3xi64>} : () -> tensor<3xi64>
    %1 = "stablehlo.dynamic_broadcast_in_dim"(%arg0, %0) {broadcast_dimensions = array<i64: 0, 1>} : (tensor<1x3xf32>, tensor<3xi64>) -> tensor<2x3x4xf32>
    "func.return"(%1) : (tensor<2x3x4xf32>) -> ()
  }
}
// -----
// stablehlo.dynamic_broadcast_in_dim C8: is_unique(concatenate(known_expanding_dimensions, known_nonexpanding_dimensions))
module {
  func.func @main(%arg0: tensor<1x3xf32>) -> tensor<2x3x4xf32> {
    %0 = "stablehlo.constant"() {value = dense<[2, 3, 4]> : tensor<3xi64>} : () -> tensor<3xi64>
    %1 = "stablehlo.dynamic_broadcast_in_dim"(%arg0, %0) {broadcast_dimensions = array<i64: 0, 1>, known_expanding_dimensions = array<i64: 0, 0>, known_nonexpanding_dimensions = array<i64>} : (tensor<1x3xf32>, tensor<3xi64>) -> tensor<2x3x4xf32>
    "func.return"(%1) : (tensor<2x3x4xf32>) -> ()
  }
}
// -----
// stablehlo.dynamic_broadcast_in_dim C9: 0 <= known_expanding_dimensions < rank(operand)
module {
  func.func @main(%arg0: tensor<1x3xf32>) -> tensor<2x3x4xf32> {
    %0 = "stablehlo.constant"() {value = dense<[2, 3, 4]> : tensor<3xi64>} : () -> tensor<3xi64>
    %1 = "stablehlo.dynamic_broadcast_in_dim"(%arg0, %0) {broadcast_dimensions = array<i64: 0, 1>, known_expanding_dimensions = array<i64: 2>, known_nonexpanding_dimensions = array<i64>} : (tensor<1x3xf32>, tensor<3xi64>) -> tensor<2x3x4xf32>
    "func.return"(%1) : (tensor<2x3x4xf32>) -> ()
  }
}
// -----
// stablehlo.dynamic_broadcast_in_dim C10: 0 <= known_nonexpanding_dimensions < rank(operand)
module {
  func.func @main(%arg0: tensor<1x3xf32>) -> tensor<2x3x4xf32> {
    %0 = "stablehlo.constant"() {value = dense<[2, 3, 4]> : tensor<3xi64>} : () -> tensor<3xi64>
    %1 = "stablehlo.dynamic_broadcast_in_dim"(%arg0, %0) {broadcast_dimensions = array<i64: 0, 1>, known_expanding_dimensions = array<i64>, known_nonexpanding_dimensions = array<i64: 2>} : (tensor<1x3xf32>, tensor<3xi64>) -> tensor<2x3x4xf32>
    "func.return"(%1) : (tensor<2x3x4xf32>) -> ()
  }
}
// -----
// stablehlo.dynamic_reshape C1: element_type(result) = element_type(operand), except for a quantization axis
module {
  func.func @main(%arg0: tensor<6xf64>) -> tensor<2x3xf32> {
    %0 = "stablehlo.constant"() {value = dense<[2, 3]> : tensor<2xi64>} : () -> tensor<2xi64>
    %1 = "stablehlo.dynamic_reshape"(%arg0, %0) : (tensor<6xf64>, tensor<2xi64>) -> tensor<2x3xf32>
    "func.return"(%1) : (tensor<2x3xf32>) -> ()
  }
}
// -----
// stablehlo.dynamic_reshape C2: size(operand) = size(result)
module {
  func.func @main(%arg0: tensor<7xf32>) -> tensor<2x3xf32> {
    %0 = "stablehlo.constant"() {value = dense<[2, 3]> : tensor<2xi64>} : () -> tensor<2xi64>
    %1 = "stablehlo.dynamic_reshape"(%arg0, %0) : (tensor<7xf32>, tensor<2xi64>) -> tensor<2x3xf32>
    "func.return"(%1) : (tensor<2x3xf32>) -> ()
  }
}
// -----
// stablehlo.dynamic_reshape C3: a quantized axis keeps its size, and as many elements before and after it
module {
  func.func @main(%arg0: tensor<2x6x!quant.uniform<i8:f32:1, {0.5:-3, 0.75:-3, 1.0:-3, 1.25:-3, 1.5:-3, 1.75:-3}>>) -> tensor<6x2x!quant.uniform<i8:f32:0, {0.5:-3, 0.75:-3, 1.0:-3, 1.25:-3, 1.5:-3, 1.75:-3}>> {
    %0 = "stablehlo.constant"() {value = dense<[6, 2]> : tensor<2xi64>} : () -> tensor<2xi64>
    %1 = "stablehlo.dynamic_reshape"(%arg0, %0) : (tensor<2x6x!quant.uniform<i8:f32:1, {0.5:-3, 0.75:-3, 1.0:-3, 1.25:-3, 1.5:-3, 1.75:-3}>>, tensor<2xi64>) -> tensor<6x2x!quant.uniform<i8:f32:0, {0.5:-3, 0.75:-3, 1.0:-3, 1.25:-3, 1.5:-3, 1.75:-3}>>
    "func.return"(%1) : (tensor<6x2x!quant.uniform<i8:f32:0, {0.5:-3, 0.75:-3, 1.0:-3, 1.25:-3, 1.5:-3, 1.75:-3}>>) -> ()
  }
}
// -----
// stablehlo.dynamic_reshape C4: size(output_shape) = rank(result), and output_shape is the shape of result
module {
  func.func @main(%arg0: tensor<6xf32>) -> tensor<2x3xf32> {
    %0 = "stablehlo.constant"() {value = dense<[-1, 3]> : tensor<2xi64>} : () -> tensor<2xi64>
    %1 = "stablehlo.dynamic_reshape"(%arg0, %0) : (tensor<6xf32>, tensor<2xi64>) -> tensor<2x3xf32>
    "func.return"(%1) : (tensor<2x3xf32>) -> ()
  }
}
// -----
// stablehlo.dynamic_iota C1: 0 <= iota_dimension < size(output_shape)
module {
  func.func @main() -> tensor<5xf32> {
    %0 = "stablehlo.constant"() {value = dense<[5]> : tensor<1xi64>} : () -> tensor<1xi64>
    %1 = "stablehlo.dynamic_iota"(%0) {iota_dimension = 1 : i64} : (tensor<1xi64>) -> tensor<5xf32>
    "func.return"(%1) : (tensor<5xf32>) -> ()
  }
}
// -----
// stablehlo.dynamic_iota C2: size(output_shape) = rank(result), and output_shape is the shape of result
module {
  func.func @main() -> tensor<5xf32> {
    %0 = "stablehlo.constant"() {value = dense<[6]> : tensor<1xi64>} : () -> tensor<1xi64>
    %1 = "stablehlo.dynamic_iota"(%0) {iota_dimension = 0 : i64} : (tensor<1xi64>) -> tensor<5xf32>
    "func.return"(%1) : (tensor<5xf32>) -> ()
  }
}
// -----
// stablehlo.dynamic_pad C1: element_type(operand) = element_type(padding_value) = element_type(result)
module {
  func.func @main(%arg0: tensor<2x3xf64>, %arg1: tensor<f32>) -> tensor<6x10xf32> {
    %0 = "stablehlo.constant"() {value = dense<[1, 0]> : tensor<2xi64>} : () -> tensor<2xi64>
    %1 = "stablehlo.constant"() {value = dense<[2, 3]> : tensor<2xi64>} : () -> tensor<2xi64>
    %2 = "stablehlo.constant"() {value = dense<[1, 2]> : tensor<2xi64>} : () -> tensor<2xi64>
    %3 = "stablehlo.dynamic_pad"(%arg0, %arg1, %0, %1, %2) : (tensor<2x3xf64>, tensor<f32>, tensor<2xi64>, tensor<2xi64>, tensor<2xi64>) -> tensor<6x10xf32>
    "func.return"(%3) : (tensor<6x10xf32>) -> ()
  }
}
// -----
// stablehlo.dynamic_pad C2: size(edge_padding_low) = size(edge_padding_high) = size(interior_padding) = rank(operand)
module {
  func.func @main(%arg0: tensor<2x3x1xf32>, %arg1: tensor<f32>) -> tensor<6x10xf32> {
    %0 = "stablehlo.constant"() {value = dense<[1, 0]> : tensor<2xi64>} : () -> tensor<2xi64>
    %1 = "stablehlo.constant"() {value = dense<[2, 3]> : tensor<2xi64>} : () -> tensor<2xi64>
    %2 = "stablehlo.constant"() {value = dense<[1, 2]> : tensor<2xi64>} : () -> tensor<2xi64>
    %3 = "stablehlo.dynamic_pad"(%arg0, %arg1, %0, %1, %2) : (tensor<2x3x1xf32>, tensor<f32>, tensor<2xi64>, tensor<2xi64>, tensor<2xi64>) -> tensor<6x10xf32>
    "func.return"(%3) : (tensor<6x10xf32>) -> ()
  }
}
// -----
// stablehlo.dynamic_pad C3: 0 <= interior_padding
module {
  func.func @main(%arg0: tensor<2x3xf32>, %arg1: tensor<f32>) -> tensor<4x10xf32> {
    %0 = "stablehlo.constant"() {value = dense<[1, 0]> : tensor<2xi64>} : () -> tensor<2xi64>
    %1 = "stablehlo.constant"() {value = dense<[2, 3]> : tensor<2xi64>} : () -> tensor<2xi64>
    %2 = "stablehlo.constant"() {value = dense<[-1, 2]> : tensor<2xi64>} : () -> tensor<2xi64>
    %3 = "stablehlo.dynamic_pad"(%arg0, %arg1, %0, %1, %2) : (tensor<2x3xf32>, tensor<f32>, tensor<2xi64>, tensor<2xi64>, tensor<2xi64>) -> tensor<4x10xf32>
    "func.return"(%3) : (tensor<4x10xf32>) -> ()
  }
}
// -----
// stablehlo.dynamic_pad C4: shape(result) = shape(operand) + edge paddings + max(shape(operand) - 1, 0) * interior_padding
module {
  func.func @main(%arg0: tensor<3x3xf32>, %arg1: tensor<f32>) -> tensor<6x10xf32> {
    %0 = "stablehlo.constant"() {value = dense<[1, 0]> : tensor<2xi64>} : () -> tensor<2xi64>
    %1 = "stablehlo.constant"() {value = dense<[2, 3]> : tensor<2xi64>} : () -> tensor<2xi64>
    %2 = "stablehlo.constant"() {value = dense<[1, 2]> : tensor<2xi64>} : () -> tensor<2xi64>
    %3 = "stablehlo.dynamic_pad"(%arg0, %arg1, %0, %1, %2) : (tensor<3x3xf32>, tensor<f32>, tensor<2xi64>, tensor<2xi64>, tensor<2xi64>) -> tensor<6x10xf32>
    "func.return"(%3) : (tensor<6x10xf32>) -> ()
  }
}
// -----
// stablehlo.real_dynamic_slice C1: element_type(operand) = element_type(result)
module {
  func.func @main(%arg0: tensor<5x7xf64>) -> tensor<2x2xf32> {
    %0 = "stablehlo.constant"() {value = dense<[1, 0]> : tensor<2xi64>} : () -> tensor<2xi64>
    %1 = "stablehlo.constant"() {value = dense<[5, 6]> : tensor<2xi64>} : () -> tensor<2xi64>
    %2 = "stablehlo.constant"() {value = dense<[2, 3]> : tensor<2xi64>} : () -> tensor<2xi64>
    %3 = "stablehlo.real_dynamic_slice"(%arg0, %0, %1, %2) : (tensor<5x7xf64>, tensor<2xi64>, tensor<2xi64>, tensor<2xi64>) -> tensor<2x2xf32>
    "func.return"(%3) : (tensor<2x2xf32>) -> ()
  }
}
// -----
// stablehlo.real_dynamic_slice C2: size(start_indices) = size(limit_indices) = size(strides) = rank(operand)
module {
  func.func @main(%arg0: tensor<5x7x1xf32>) -> tensor<2x2xf32> {
    %0 = "stablehlo.constant"() {value = dense<[1, 0]> : tensor<2xi64>} : () -> tensor<2xi64>
    %1 = "stablehlo.constant"() {value = dense<[5, 6]> : tensor<2xi64>} : () -> tensor<2xi64>
    %2 = "stablehlo.constant"() {value = dense<[2, 3]> : tensor<2xi64>} : () -> tensor<2xi64>
    %3 = "stablehlo.real_dynamic_slice"(%arg0, %0, %1, %2) : (tensor<5x7x1xf32>, tensor<2xi64>, tensor<2xi64>, tensor<2xi64>) -> tensor<2x2xf32>
    "func.return"(%3) : (tensor<2x2xf32>) -> ()
  }
}
// -----
// stablehlo.real_dynamic_slice C3: 0 <= start_indices <= limit_indices <= shape(operand)
module {
  func.func @main(%arg0: tensor<4x7xf32>) -> tensor<2x2xf32> {
    %0 = "stablehlo.constant"() {value = dense<[1, 0]> : tensor<2xi64>} : () -> tensor<2xi64>
    %1 = "stablehlo.constant"() {value = dense<[5, 6]> : tensor<2xi64>} : () -> tensor<2xi64>
    %2 = "stablehlo.constant"() {value = dense<[2, 3]> : tensor<2xi64>} : () -> tensor<2xi64>
    %3 = "stablehlo.real_dynamic_slice"(%arg0, %0, %1, %2) : (tensor<4x7xf32>, tensor<2xi64>, tensor<2xi64>, tensor<2xi64>) -> tensor<2x2xf32>
    "func.return"(%3) : (tensor<2x2xf32>) -> ()
  }
}
// -----
// stablehlo.real_dynamic_slice C4: 0 < strides
module {
  func.func @main(%arg0: tensor<5x7xf32>) -> tensor<2x2xf32> {
    %0 = "stablehlo.constant"() {value = dense<[1, 0]> : tensor<2xi64>} : () -> tensor<2xi64>
    %1 = "stablehlo.constant"() {value = dense<[5, 6]> : tensor<2xi64>} : () -> tensor<2xi64>
    %2 = "stablehlo.constant"() {value = dense<[-1, 3]> : tensor<2xi64>} : () -> tensor<2xi64>
    %3 = "stablehlo.real_dynamic_slice"(%arg0, %0, %1, %2) : (tensor<5x7xf32>, tensor<2xi64>, tensor<2xi64>, tensor<2xi64>) -> tensor<2x2xf32>
    "func.return"(%3) : (tensor<2x2xf32>) -> ()
  }
}
// -----
// stablehlo.real_dynamic_slice C5: shape(result) = ceil((limit_indices - start_indices) / strides)
module {
  func.func @main(%arg0: tensor<5x7xf32>) -> tensor<2x2xf32> {
    %0 = "stablehlo.constant"() {value = dense<[0, 0]> : tensor<2xi64>} : () -> tensor<2xi64>
    %1 = "stablehlo.constant"() {value = dense<[5, 6]> : tensor<2xi64>} : () -> tensor<2xi64>
    %2 = "stablehlo.constant"() {value = dense<[2, 3]> : tensor<2xi64>} : () -> tensor<2xi64>
    %3 = "stablehlo.real_dynamic_slice"(%arg0, %0, %1, %2) : (tensor<5x7xf32>, tensor<2xi64>, tensor<2xi64>, tensor<2xi64>) -> tensor<2x2xf32>
    "func.return"(%3) : (tensor<2x2xf32>) -> ()
  }
}
// -----
// stablehlo.get_dimension_size C1: 0 <= dimension < rank(operand)
module {
  func.func @main(%arg0: tensor<2x0x5xf32>) -> tensor<i32> {
    %0 = "stablehlo.get_dimension_size"(%arg0) {dimension = -1 : i64} : (tensor<2x0x5xf32>) -> tensor<i32>
    "func.return"(%0) : (tensor<i32>) -> ()
  }
}
// -----
// stablehlo.set_dimension_size C1: element_type(operand) = element_type(result)
module {
  func.func @main(%arg0: tensor<2x3xf64>) -> tensor<2x3xf32> {
    %0 = "stablehlo.constant"() {value = dense<2> : tensor<i32>} : () -> tensor<i32>
    %1 = "stablehlo.set_dimension_size"(%arg0, %0) {dimension = 0 : i64} : (tensor<2x3xf64>, tensor<i32>) -> tensor<2x3xf32>
    "func.return"(%1) : (tensor<2x3xf32>) -> ()
  }
}
// -----
// stablehlo.set_dimension_size C2: 0 <= dimension < rank(operand)
module {
  func.func @main(%arg0: tensor<2x3xf32>) -> tensor<2x3xf32> {
    %0 = "stablehlo.constant"() {value = dense<2> : tensor<i32>} : () -> tensor<i32>
    %1 = "stablehlo.set_dimension_size"(%arg0, %0) {dimension = -1 : i64} : (tensor<2x3xf32>, tensor<i32>) -> tensor<2x3xf32>
    "func.return"(%1) : (tensor<2x3xf32>) -> ()
  }
}
// -----
// stablehlo.set_dimension_size C3: size is of type si32
module {
  func.func @main(%arg0: tensor<2x3xf32>) -> tensor<2x3xf32> {
    %0 = "stablehlo.constant"() {value = dense<2> : tensor<i64>} : () -> tensor<i64>
    %1 = "stablehlo.set_dimension_size"(%arg0, %0) {dimension = 0 : i64} : (tensor<2x3xf32>, tensor<i64>) -> tensor<2x3xf32>
    "func.return"(%1) : (tensor<2x3xf32>) -> ()
  }
}
// -----
// stablehlo.set_dimension_size C4: shape(result) = shape(operand) except for dim(result, dimension)
module {
  func.func @main(%arg0: tensor<2x4xf32>) -> tensor<2x3xf32> {
    %0 = "stablehlo.constant"() {value = dense<2> : tensor<i32>} : () -> tensor<i32>
    %1 = "stablehlo.set_dimension_size"(%arg0, %0) {dimension = 0 : i64} : (tensor<2x4xf32>, tensor<i32>) -> tensor<2x3xf32>
    "func.return"(%1) : (tensor<2x3xf32>) -> ()
  }
}
// -----
// stablehlo.set_dimension_size C5: 0 <= size <= the bound of the dimension, where it is known
module {
  func.func @main(%arg0: tensor<1x3xf32>) -> tensor<2x3xf32> {
    %0 = "stablehlo.constant"() {value = dense<2> : tensor<i32>} : () -> tensor<i32>
    %1 = "stablehlo.set_dimension_size"(%arg0, %0) {dimension = 0 : i64} : (tensor<1x3xf32>, tensor<i32>) -> tensor<2x3xf32>
    "func.return"(%1) : (tensor<2x3xf32>) -> ()
  }
}
// -----
// stablehlo.dynamic_slice C1: element_type(operand) = element_type(result)
module {
  func.func @main(%arg0: tensor<2x3x1x2x1x2xf64>, %arg1: tensor<i32>, %arg2: tensor<i32>, %arg3: tensor<i32>, %arg4: tensor<i32>, %arg5: tensor<i32>, %arg6: tensor<i32>) -> tensor<1x2x1x1x1x2xf32> {
    %0 = "stablehlo.dynamic_slice"(%arg0, %arg1, %arg2, %arg3, %arg4, %arg5, %arg6) {slice_sizes = array<i64: 1, 2, 1, 1, 1, 2>} : (tensor<2x3x1x2x1x2xf64>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x2x1x1x1x2xf32>
    "func.return"(%0) : (tensor<1x2x1x1x1x2xf32>) -> ()
  }
}
// -----
// stablehlo.dynamic_slice C2: size(start_indices) = size(slice_sizes) = rank(operand)
module {
  func.func @main(%arg0: tensor<2x3x1x2x1x2xf32>, %arg1: tensor<i32>, %arg2: tensor<i32>, %arg3: tensor<i32>, %arg4: tensor<i32>, %arg5: tensor<i32>, %arg6: tensor<i32>) -> tensor<1x2x1x1x1xf32> {
    %0 = "stablehlo.dynamic_slice"(%arg0, %arg1, %arg2, %arg3, %arg4, %arg5, %arg6) {slice_sizes = array<i64: 1, 2, 1, 1, 1>} : (tensor<2x3x1x2x1x2xf32>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x2x1x1x1xf32>
    "func.return"(%0) : (tensor<1x2x1x1x1xf32>) -> ()
  }
}
// -----
// stablehlo.dynamic_slice C3: same(type(start_indices...))
module {
  func.func @main(%arg0: tensor<2x3x1x2x1x2xf32>, %arg1: tensor<i64>, %arg2: tensor<i32>, %arg3: tensor<i32>, %arg4: tensor<i32>, %arg5: tensor<i32>, %arg6: tensor<i32>) -> tensor<1x2x1x1x1x2xf32> {
    %0 = "stablehlo.dynamic_slice"(%arg0, %arg1, %arg2, %arg3, %arg4, %arg5, %arg6) {slice_sizes = array<i64: 1, 2, 1, 1, 1, 2>} : (tensor<2x3x1x2x1x2xf32>, tensor<i64>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x2x1x1x1x2xf32>
    "func.return"(%0) : (tensor<1x2x1x1x1x2xf32>) -> ()
  }
}
// -----
// stablehlo.dynamic_slice C4: 0 <= slice_sizes <= shape(operand)
module {
  func.func @main(%arg0: tensor<2x3x1x2x1x2xf32>, %arg1: tensor<i32>, %arg2: tensor<i32>, %arg3: tensor<i32>, %arg4: tensor<i32>, %arg5: tensor<i32>, %arg6: tensor<i32>) -> tensor<1x2x1x1x1x2xf32> {
    %0 = "stablehlo.dynamic_slice"(%arg0, %arg1, %arg2, %arg3, %arg4, %arg5, %arg6) {slice_sizes = array<i64: -1, 2, 1, 1, 1, 2>} : (tensor<2x3x1x2x1x2xf32>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x2x1x1x1x2xf32>
    "func.return"(%0) : (tensor<1x2x1x1x1x2xf32>) -> ()
  }
}
// -----
// stablehlo.dynamic_slice C5: shape(result) = slice_sizes
module {
  func.func @main(%arg0: tensor<2x3x1x2x1x2xf32>, %arg1: tensor<i32>, %arg2: tensor<i32>, %arg3: tensor<i32>, %arg4: tensor<i32>, %arg5: tensor<i32>, %arg6: tensor<i32>) -> tensor<1x2x1x1x1x2xf32> {
    %0 = "stablehlo.dynamic_slice"(%arg0, %arg1, %arg2, %arg3, %arg4, %arg5, %arg6) {slice_sizes = array<i64: 2, 2, 1, 1, 1, 2>} : (tensor<2x3x1x2x1x2xf32>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x2x1x1x1x2xf32>
    "func.return"(%0) : (tensor<1x2x1x1x1x2xf32>) -> ()
  }
}
// -----
// stablehlo.dynamic_update_slice C1: type(operand) = type(result)
module {
  func.func @main(%arg0: tensor<3x3x1x2x1x2xf32>, %arg1: tensor<1x2x1x1x1x2xf32>, %arg2: tensor<i32>, %arg3: tensor<i32>, %arg4: tensor<i32>, %arg5: tensor<i32>, %arg6: tensor<i32>, %arg7: tensor<i32>) -> tensor<2x3x1x2x1x2xf32> {
    %0 = "stablehlo.dynamic_update_slice"(%arg0, %arg1, %arg2, %arg3, %arg4, %arg5, %arg6, %arg7) : (tensor<3x3x1x2x1x2xf32>, tensor<1x2x1x1x1x2xf32>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<2x3x1x2x1x2xf32>
    "func.return"(%0) : (tensor<2x3x1x2x1x2xf32>) -> ()
  }
}
// -----
// stablehlo.dynamic_update_slice C2: element_type(operand) = element_type(update)
module {
  func.func @main(%arg0: tensor<2x3x1x2x1x2xf64>, %arg1: tensor<1x2x1x1x1x2xf32>, %arg2: tensor<i32>, %arg3: tensor<i32>, %arg4: tensor<i32>, %arg5: tensor<i32>, %arg6: tensor<i32>, %arg7: tensor<i32>) -> tensor<2x3x1x2x1x2xf64> {
    %0 = "stablehlo.dynamic_update_slice"(%arg0, %arg1, %arg2, %arg3, %arg4, %arg5, %arg6, %arg7) : (tensor<2x3x1x2x1x2xf64>, tensor<1x2x1x1x1x2xf32>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<2x3x1x2x1x2xf64>
    "func.return"(%0) : (tensor<2x3x1x2x1x2xf64>) -> ()
  }
}
// -----
// stablehlo.dynamic_update_slice C3: rank(update) = rank(operand)
module {
  func.func @main(%arg0: tensor<2x3x1x2x1x2xf32>, %arg1: tensor<1x2x1x1x1x2x1xf32>, %arg2: tensor<i32>, %arg3: tensor<i32>, %arg4: tensor<i32>, %arg5: tensor<i32>, %arg6: tensor<i32>, %arg7: tensor<i32>) -> tensor<2x3x1x2x1x2xf32> {
    %0 = "stablehlo.dynamic_update_slice"(%arg0, %arg1, %arg2, %arg3, %arg4, %arg5, %arg6, %arg7) : (tensor<2x3x1x2x1x2xf32>, tensor<1x2x1x1x1x2x1xf32>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<2x3x1x2x1x2xf32>
    "func.return"(%0) : (tensor<2x3x1x2x1x2xf32>) -> ()
  }
}
// -----
// stablehlo.dynamic_update_slice C4: size(start_indices) = rank(operand)
module {
  func.func @main(%arg0: tensor<2x3x1x2x1x2xf32>, %arg1: tensor<1x2x1x1x1x2xf32>, %arg2: tensor<i32>, %arg3: tensor<i32>, %arg4: tensor<i32>, %arg5: tensor<i32>, %arg6: tensor<i32>) -> tensor<2x3x1x2x1x2xf32> {
    %0 = "stablehlo.dynamic_update_slice"(%arg0, %arg1, %arg2, %arg3, %arg4, %arg5, %arg6) : (tensor<2x3x1x2x1x2xf32>, tensor<1x2x1x1x1x2xf32>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<2x3x1x2x1x2xf32>
    "func.return"(%0) : (tensor<2x3x1x2x1x2xf32>) -> ()
  }
}
// -----
// stablehlo.dynamic_update_slice C5: same(type(start_indices...))
module {
  func.func @main(%arg0: tensor<2x3x1x2x1x2xf32>, %arg1: tensor<1x2x1x1x1x2xf32>, %arg2: tensor<i64>, %arg3: tensor<i32>, %arg4: tensor<i32>, %arg5: tensor<i32>, %arg6: tensor<i32>, %arg7: tensor<i32>) -> tensor<2x3x1x2x1x2xf32> {
    %0 = "stablehlo.dynamic_update_slice"(%arg0, %arg1, %arg2, %arg3, %arg4, %arg5, %arg6, %arg7) : (tensor<2x3x1x2x1x2xf32>, tensor<1x2x1x1x1x2xf32>, tensor<i64>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<2x3x1x2x1x2xf32>
    "func.return"(%0) : (tensor<2x3x1x2x1x2xf32>) -> ()
  }
}
// -----
// stablehlo.dynamic_update_slice C6: 0 <= shape(update) <= shape(operand)
module {
  func.func @main(%arg0: tensor<0x3x1x2x1x2xf32>, %arg1: tensor<1x2x1x1x1x2xf32>, %arg2: tensor<i32>, %arg3: tensor<i32>, %arg4: tensor<i32>, %arg5: tensor<i32>, %arg6: tensor<i32>, %arg7: tensor<i32>) -> tensor<0x3x1x2x1x2xf32> {
    %0 = "stablehlo.dynamic_update_slice"(%arg0, %arg1, %arg2, %arg3, %arg4, %arg5, %arg6, %arg7) : (tensor<0x3x1x2x1x2xf32>, tensor<1x2x1x1x1x2xf32>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<0x3x1x2x1x2xf32>
    "func.return"(%0) : (tensor<0x3x1x2x1x2xf32>) -> ()
  }
}
// -----
// stablehlo.torch_index_select C1: element_type(operand) = element_type(result)
module {
  func.func @main(%arg0: tensor<4x3xf64>, %arg1: tensor<2xi32>) -> tensor<2x3xf32> {
    %0 = "stablehlo.torch_index_select"(%arg0, %arg1) {batch_dims = 0 : i64, dim = 0 : i64} : (tensor<4x3xf64>, tensor<2xi32>) -> tensor<2x3xf32>
    "func.return"(%0) : (tensor<2x3xf32>) -> ()
  }
}
// -----
// stablehlo.torch_index_select C2: 0 <= dim < rank(operand)
module {
  func.func @main(%arg0: tensor<4x3xf32>, %arg1: tensor<2xi32>) -> tensor<4x3x2xf32> {
    %0 = "stablehlo.torch_index_select"(%arg0, %arg1) {batch_dims = 0 : i64, dim = 2 : i64} : (tensor<4x3xf32>, tensor<2xi32>) -> tensor<4x3x2xf32>
    "func.return"(%0) : (tensor<4x3x2xf32>) -> ()
  }
}
// -----
// stablehlo.torch_index_select C3: 0 <= batch_dims <= min(dim, rank(index))
module {
  func.func @main(%arg0: tensor<4x3xf32>, %arg1: tensor<2xi32>) -> tensor<2x3xf32> {
    %0 = "stablehlo.torch_index_select"(%arg0, %arg1) {batch_dims = -1 : i64, dim = 0 : i64} : (tensor<4x3xf32>, tensor<2xi32>) -> tensor<2x3xf32>
    "func.return"(%0) : (tensor<2x3xf32>) -> ()
  }
}
// -----
// stablehlo.torch_index_select C4: operand and index have the same sizes in their first batch_dims dimensions
module {
  func.func @main(%arg0: tensor<4x3xf32>, %arg1: tensor<2x2xi32>) -> tensor<4x2xf32> {
    %0 = "stablehlo.torch_index_select"(%arg0, %arg1) {batch_dims = 1 : i64, dim = 1 : i64} : (tensor<4x3xf32>, tensor<2x2xi32>) -> tensor<4x2xf32>
    "func.return"(%0) : (tensor<4x2xf32>) -> ()
  }
}
// -----
// stablehlo.torch_index_select C5: shape(result) = the selected shape
module {
  func.func @main(%arg0: tensor<4x3xf32>, %arg1: tensor<2xi32>) -> tensor<2x3xf32> {
    %0 = "stablehlo.torch_index_select"(%arg0, %arg1) {batch_dims = 0 : i64, dim = 1 : i64} : (tensor<4x3xf32>, tensor<2xi32>) -> tensor<2x3xf32>
    "func.return"(%0) : (tensor<2x3xf32>) -> ()
  }
}
// -----
// stablehlo.gather C1: rank(operand) = size(offset_dims) + size(collapsed_slice_dims) + size(operand_batching_dims)
module {
  func.func @main(%arg0: tensor<4x3xf32>, %arg1: tensor<3xi32>) -> tensor<3x3xf32> {
    %0 = "stablehlo.gather"(%arg0, %arg1) {dimension_numbers = #stablehlo.gather<offset_dims = [], collapsed_slice_dims = [0], operand_batching_dims = [], start_indices_batching_dims = [], start_index_map = [0], index_vector_dim = 1>, indices_are_sorted = false, slice_sizes = array<i64: 1, 3>} : (tensor<4x3xf32>, tensor<3xi32>) -> tensor<3x3xf32>
    "func.return"(%0) : (tensor<3x3xf32>) -> ()
  }
}
// -----
// stablehlo.gather C2: 0 <= index_vector_dim <= rank(start_indices)
module {
  func.func @main(%arg0: tensor<4x3xf32>, %arg1: tensor<3xi32>) -> tensor<3x3xf32> {
    %0 = "stablehlo.gather"(%arg0, %arg1) {dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], operand_batching_dims = [], start_indices_batching_dims = [], start_index_map = [0], index_vector_dim = 2>, indices_are_sorted = false, slice_sizes = array<i64: 1, 3>} : (tensor<4x3xf32>, tensor<3xi32>) -> tensor<3x3xf32>
    "func.return"(%0) : (tensor<3x3xf32>) -> ()
  }
}
// -----
// stablehlo.gather C3: size(start_index_map) = index_vector_dim < rank(start_indices) ? dim(start_indices, index_vector_dim) : 1
module {
  func.func @main(%arg0: tensor<4x3xf32>, %arg1: tensor<3xi32>) -> tensor<3x3xf32> {
    %0 = "stablehlo.gather"(%arg0, %arg1) {dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], operand_batching_dims = [], start_indices_batching_dims = [], start_index_map = [], index_vector_dim = 1>, indices_are_sorted = false, slice_sizes = array<i64: 1, 3>} : (tensor<4x3xf32>, tensor<3xi32>) -> tensor<3x3xf32>
    "func.return"(%0) : (tensor<3x3xf32>) -> ()
  }
}
// -----
// stablehlo.gather C4: is_unique(offset_dims) and is_sorted(offset_dims)
module {
  func.func @main(%arg0: tensor<5x6xf32>, %arg1: tensor<3x2xi32>) -> tensor<3x?x3xf32> {
    %0 = "stablehlo.gather"(%arg0, %arg1) {dimension_numbers = #stablehlo.gather<offset_dims = [2, 2], collapsed_slice_dims = [], operand_batching_dims = [], start_indices_batching_dims = [], start_index_map = [0, 1], index_vector_dim = 1>, indices_are_sorted = false, slice_sizes = array<i64: 2, 3>} : (tensor<5x6xf32>, tensor<3x2xi32>) -> tensor<3x?x3xf32>
    "func.return"(%0) : (tensor<3x?x3xf32>) -> ()
  }
}
// -----
// stablehlo.gather C5: 0 <= offset_dims < rank(result)
module {
  func.func @main(%arg0: tensor<4x3xf32>, %arg1: tensor<3xi32>) -> tensor<3x3xf32> {
    %0 = "stablehlo.gather"(%arg0, %arg1) {dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [0], operand_batching_dims = [], start_indices_batching_dims = [], start_index_map = [0], index_vector_dim = 1>, indices_are_sorted = false, slice_sizes = array<i64: 1, 3>} : (tensor<4x3xf32>, tensor<3xi32>) -> tensor<3x3xf32>
    "func.return"(%0) : (tensor<3x3xf32>) -> ()
  }
}
// -----
// stablehlo.gather C6: is_unique(concatenate(collapsed_slice_dims, operand_batching_dims))
module {
  func.func @main(%arg0: tensor<3x4xf32>, %arg1: tensor<3x2xi32>) -> tensor<3x?xf32> {
    %0 = "stablehlo.gather"(%arg0, %arg1) {dimension_numbers = #stablehlo.gather<offset_dims = [], collapsed_slice_dims = [1, 1], operand_batching_dims = [], start_indices_batching_dims = [], start_index_map = [0, 1], index_vector_dim = 1>, indices_are_sorted = false, slice_sizes = array<i64: 1, 1>} : (tensor<3x4xf32>, tensor<3x2xi32>) -> tensor<3x?xf32>
    "func.return"(%0) : (tensor<3x?xf32>) -> ()
  }
}
// -----
// stablehlo.gather C7: is_sorted(collapsed_slice_dims)
module {
  func.func @main(%arg0: tensor<3x4xf32>, %arg1: tensor<3x2xi32>) -> tensor<3xf32> {
    %0 = "stablehlo.gather"(%arg0, %arg1) {dimension_numbers = #stablehlo.gather<offset_dims = [], collapsed_slice_dims = [1, 0], operand_batching_dims = [], start_indices_batching_dims = [], start_index_map = [0, 1], index_vector_dim = 1>, indices_are_sorted = false, slice_sizes = array<i64: 1, 1>} : (tensor<3x4xf32>, tensor<3x2xi32>) -> tensor<3xf32>
    "func.return"(%0) : (tensor<3xf32>) -> ()
  }
}
// -----
// stablehlo.gather C8: 0 <= collapsed_slice_dims < rank(operand)
module {
  func.func @main(%arg0: tensor<4x3xf32>, %arg1: tensor<3xi32>) -> tensor<3x1x?xf32> {
    %0 = "stablehlo.gather"(%arg0, %arg1) {dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [-1], operand_batching_dims = [], start_indices_batching_dims = [], start_index_map = [0], index_vector_dim = 1>, indices_are_sorted = false, slice_sizes = array<i64: 1, 3>} : (tensor<4x3xf32>, tensor<3xi32>) -> tensor<3x1x?xf32>
    "func.return"(%0) : (tensor<3x1x?xf32>) -> ()
  }
}
// -----
// stablehlo.gather C9: slice_sizes[collapsed_slice_dims...] <= 1
module {
  func.func @main(%arg0: tensor<4x3xf32>, %arg1: tensor<3xi32>) -> tensor<3x1xf32> {
    %0 = "stablehlo.gather"(%arg0, %arg1) {dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [1], operand_batching_dims = [], start_indices_batching_dims = [], start_index_map = [0], index_vector_dim = 1>, indices_are_sorted = false, slice_sizes = array<i64: 1, 3>} : (tensor<4x3xf32>, tensor<3xi32>) -> tensor<3x1xf32>
    "func.return"(%0) : (tensor<3x1xf32>) -> ()
  }
}
// -----
// stablehlo.gather C10: is_sorted(operand_batching_dims)
module {
  func.func @main(%arg0: tensor<2x2x4x5xf32>, %arg1: tensor<2x2x2xi32>) -> tensor<2x2x2xf32> {
    %0 = "stablehlo.gather"(%arg0, %arg1) {dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [2], operand_batching_dims = [1, 0], start_indices_batching_dims = [0, 1], start_index_map = [2, 3], index_vector_dim = 2>, indices_are_sorted = false, slice_sizes = array<i64: 1, 1, 1, 2>} : (tensor<2x2x4x5xf32>, tensor<2x2x2xi32>) -> tensor<2x2x2xf32>
    "func.return"(%0) : (tensor<2x2x2xf32>) -> ()
  }
}
// -----
// stablehlo.gather C11: 0 <= operand_batching_dims < rank(operand)
module {
  func.func @main(%arg0: tensor<2x2x4x5xf32>, %arg1: tensor<2x2x2xi32>) -> tensor<2x2x1x?xf32> {
    %0 = "stablehlo.gather"(%arg0, %arg1) {dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [2], operand_batching_dims = [-1, 1], start_indices_batching_dims = [0, 1], start_index_map = [2, 3], index_vector_dim = 2>, indices_are_sorted = false, slice_sizes = array<i64: 1, 1, 1, 2>} : (tensor<2x2x4x5xf32>, tensor<2x2x2xi32>) -> tensor<2x2x1x?xf32>
    "func.return"(%0) : (tensor<2x2x1x?xf32>) -> ()
  }
}
// -----
// stablehlo.gather C12: slice_sizes[operand_batching_dims...] <= 1
module {
  func.func @main(%arg0: tensor<2x2x4x5xf32>, %arg1: tensor<2x2x2xi32>) -> tensor<2x2x2xf32> {
    %0 = "stablehlo.gather"(%arg0, %arg1) {dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [2], operand_batching_dims = [0, 1], start_indices_batching_dims = [0, 1], start_index_map = [2, 3], index_vector_dim = 2>, indices_are_sorted = false, slice_sizes = array<i64: 2, 1, 1, 2>} : (tensor<2x2x4x5xf32>, tensor<2x2x2xi32>) -> tensor<2x2x2xf32>
    "func.return"(%0) : (tensor<2x2x2xf32>) -> ()
  }
}
// -----
// stablehlo.gather C13: is_unique(start_indices_batching_dims)
module {
  func.func @main(%arg0: tensor<2x2x4x5xf32>, %arg1: tensor<2x2x2xi32>) -> tensor<2x2x2xf32> {
    %0 = "stablehlo.gather"(%arg0, %arg1) {dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [2], operand_batching_dims = [0, 1], start_indices_batching_dims = [1, 1], start_index_map = [2, 3], index_vector_dim = 2>, indices_are_sorted = false, slice_sizes = array<i64: 1, 1, 1, 2>} : (tensor<2x2x4x5xf32>, tensor<2x2x2xi32>) -> tensor<2x2x2xf32>
    "func.return"(%0) : (tensor<2x2x2xf32>) -> ()
  }
}
// -----
// stablehlo.gather C14: 0 <= start_indices_batching_dims < rank(start_indices)
module {
  func.func @main(%arg0: tensor<2x2x4x5xf32>, %arg1: tensor<2x2x2xi32>) -> tensor<2x2x2xf32> {
    %0 = "stablehlo.gather"(%arg0, %arg1) {dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [2], operand_batching_dims = [0, 1], start_indices_batching_dims = [-1, 1], start_index_map = [2, 3], index_vector_dim = 2>, indices_are_sorted = false, slice_sizes = array<i64: 1, 1, 1, 2>} : (tensor<2x2x4x5xf32>, tensor<2x2x2xi32>) -> tensor<2x2x2xf32>
    "func.return"(%0) : (tensor<2x2x2xf32>) -> ()
  }
}
// -----
// stablehlo.gather C15: index_vector_dim not in start_indices_batching_dims
module {
  func.func @main(%arg0: tensor<2x2x4x5xf32>, %arg1: tensor<2x2x2xi32>) -> tensor<2x2x2xf32> {
    %0 = "stablehlo.gather"(%arg0, %arg1) {dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [2], operand_batching_dims = [0, 1], start_indices_batching_dims = [2, 1], start_index_map = [2, 3], index_vector_dim = 2>, indices_are_sorted = false, slice_sizes = array<i64: 1, 1, 1, 2>} : (tensor<2x2x4x5xf32>, tensor<2x2x2xi32>) -> tensor<2x2x2xf32>
    "func.return"(%0) : (tensor<2x2x2xf32>) -> ()
  }
}
// -----
// stablehlo.gather C16: size(operand_batching_dims) = size(start_indices_batching_dims)
module {
  func.func @main(%arg0: tensor<4x3xf32>, %arg1: tensor<3xi32>) -> tensor<3x3xf32> {
    %0 = "stablehlo.gather"(%arg0, %arg1) {dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], operand_batching_dims = [], start_indices_batching_dims = [0], start_index_map = [0], index_vector_dim = 1>, indices_are_sorted = false, slice_sizes = array<i64: 1, 3>} : (tensor<4x3xf32>, tensor<3xi32>) -> tensor<3x3xf32>
    "func.return"(%0) : (tensor<3x3xf32>) -> ()
  }
}
// -----
// stablehlo.gather C17: dim(operand, operand_batching_dims...) = dim(start_indices, start_indices_batching_dims...)
module {
  func.func @main(%arg0: tensor<3x2x4x5xf32>, %arg1: tensor<2x2x2xi32>) -> tensor<2x2x2xf32> {
    %0 = "stablehlo.gather"(%arg0, %arg1) {dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [2], operand_batching_dims = [0, 1], start_indices_batching_dims = [0, 1], start_index_map = [2, 3], index_vector_dim = 2>, indices_are_sorted = false, slice_sizes = array<i64: 1, 1, 1, 2>} : (tensor<3x2x4x5xf32>, tensor<2x2x2xi32>) -> tensor<2x2x2xf32>
    "func.return"(%0) : (tensor<2x2x2xf32>) -> ()
  }
}
// -----
// stablehlo.gather C18: is_unique(concatenate(start_index_map, operand_batching_dims))
module {
  func.func @main(%arg0: tensor<3x4xf32>, %arg1: tensor<3x2xi32>) -> tensor<3xf32> {
    %0 = "stablehlo.gather"(%arg0, %arg1) {dimension_numbers = #stablehlo.gather<offset_dims = [], collapsed_slice_dims = [0, 1], operand_batching_dims = [], start_indices_batching_dims = [], start_index_map = [1, 1], index_vector_dim = 1>, indices_are_sorted = false, slice_sizes = array<i64: 1, 1>} : (tensor<3x4xf32>, tensor<3x2xi32>) -> tensor<3xf32>
    "func.return"(%0) : (tensor<3xf32>) -> ()
  }
}
// -----
// stablehlo.gather C19: 0 <= start_index_map < rank(operand)
module {
  func.func @main(%arg0: tensor<4x3xf32>, %arg1: tensor<3xi32>) -> tensor<3x3xf32> {
    %0 = "stablehlo.gather"(%arg0, %arg1) {dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], operand_batching_dims = [], start_indices_batching_dims = [], start_index_map = [-1], index_vector_dim = 1>, indices_are_sorted = false, slice_sizes = array<i64: 1, 3>} : (tensor<4x3xf32>, tensor<3xi32>) -> tensor<3x3xf32>
    "func.return"(%0) : (tensor<3x3xf32>) -> ()
  }
}
// -----
// stablehlo.gather C20: size(slice_sizes) = rank(operand)
module {
  func.func @main(%arg0: tensor<4x3xf32>, %arg1: tensor<3xi32>) -> tensor<3x3x?xf32> {
    %0 = "stablehlo.gather"(%arg0, %arg1) {dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], operand_batching_dims = [], start_indices_batching_dims = [], start_index_map = [0], index_vector_dim = 1>, indices_are_sorted = false, slice_sizes = array<i64: 1, 3, 3>} : (tensor<4x3xf32>, tensor<3xi32>) -> tensor<3x3x?xf32>
    "func.return"(%0) : (tensor<3x3x?xf32>) -> ()
  }
}
// -----
// stablehlo.gather C21: 0 <= slice_sizes <= shape(operand)
module {
  func.func @main(%arg0: tensor<4x3xf32>, %arg1: tensor<3xi32>) -> tensor<3x3xf32> {
    %0 = "stablehlo.gather"(%arg0, %arg1) {dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], operand_batching_dims = [], start_indices_batching_dims = [], start_index_map = [0], index_vector_dim = 1>, indices_are_sorted = false, slice_sizes = array<i64: -1, 3>} : (tensor<4x3xf32>, tensor<3xi32>) -> tensor<3x3xf32>
    "func.return"(%0) : (tensor<3x3xf32>) -> ()
  }
}
// -----
// stablehlo.gather C22: shape(result) = combine(batch_dim_sizes, offset_dim_sizes)
module {
  func.func @main(%arg0: tensor<4x3xf32>, %arg1: tensor<3xi32>) -> tensor<3x3xf32> {
    %0 = "stablehlo.gather"(%arg0, %arg1) {dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], operand_batching_dims = [], start_indices_batching_dims = [], start_index_map = [0], index_vector_dim = 1>, indices_are_sorted = false, slice_sizes = array<i64: 1, 2>} : (tensor<4x3xf32>, tensor<3xi32>) -> tensor<3x3xf32>
    "func.return"(%0) : (tensor<3x3xf32>) -> ()
  }
}
// -----
// stablehlo.gather C23: element_type(operand) = element_type(result)
module {
  func.func @main(%arg0: tensor<4x3xf64>, %arg1: tensor<3xi32>) -> tensor<3x3xf32> {
    %0 = "stablehlo.gather"(%arg0, %arg1) {dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], operand_batching_dims = [], start_indices_batching_dims = [], start_index_map = [0], index_vector_dim = 1>, indices_are_sorted = false, slice_sizes = array<i64: 1, 3>} : (tensor<4x3xf64>, tensor<3xi32>) -> tensor<3x3xf32>
    "func.return"(%0) : (tensor<3x3xf32>) -> ()
  }
}
// -----
// stablehlo.dynamic_gather C1: rank(operand) = size(offset_dims) + size(collapsed_slice_dims) + size(operand_batching_dims)
module {
  func.func @main(%arg0: tensor<4x3xf32>, %arg1: tensor<3xi32>) -> tensor<3x3xf32> {
    %0 = "stablehlo.constant"() {value = dense<[1, 3]> : tensor<2xi32>} : () -> tensor<2xi32>
    %1 = "stablehlo.dynamic_gather"(%arg0, %arg1, %0) {dimension_numbers = #stablehlo.gather<offset_dims = [], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1, operand_batching_dims = [], start_indices_batching_dims = []>, indices_are_sorted = false} : (tensor<4x3xf32>, tensor<3xi32>, tensor<2xi32>) -> tensor<3x3xf32>
    "func.return"(%1) : (tensor<3x3xf32>) -> ()
  }
}
// -----
// stablehlo.dynamic_gather C2: 0 <= index_vector_dim <= rank(start_indices)
module {
  func.func @main(%arg0: tensor<4x3xf32>, %arg1: tensor<3xi32>) -> tensor<3x3xf32> {
    %0 = "stablehlo.constant"() {value = dense<[1, 3]> : tensor<2xi32>} : () -> tensor<2xi32>
    %1 = "stablehlo.dynamic_gather"(%arg0, %arg1, %0) {dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 2, operand_batching_dims = [], start_indices_batching_dims = []>, indices_are_sorted = false} : (tensor<4x3xf32>, tensor<3xi32>, tensor<2xi32>) -> tensor<3x3xf32>
    "func.return"(%1) : (tensor<3x3xf32>) -> ()
  }
}
// -----
// stablehlo.dynamic_gather C3: size(start_index_map) = index_vector_dim < rank(start_indices) ? dim(start_indices, index_vector_dim) : 1
module {
  func.func @main(%arg0: tensor<4x3xf32>, %arg1: tensor<3xi32>) -> tensor<3x3xf32> {
    %0 = "stablehlo.constant"() {value = dense<[1, 3]> : tensor<2xi32>} : () -> tensor<2xi32>
    %1 = "stablehlo.dynamic_gather"(%arg0, %arg1, %0) {dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [], index_vector_dim = 1, operand_batching_dims = [], start_indices_batching_dims = []>, indices_are_sorted = false} : (tensor<4x3xf32>, tensor<3xi32>, tensor<2xi32>) -> tensor<3x3xf32>
    "func.return"(%1) : (tensor<3x3xf32>) -> ()
  }
}
// -----
// stablehlo.dynamic_gather C4: is_unique(offset_dims) and is_sorted(offset_dims)
module {
  func.func @main(%arg0: tensor<5x6xf32>, %arg1: tensor<3x2xi32>) -> tensor<3x?x3xf32> {
    %0 = "stablehlo.constant"() {value = dense<[2, 3]> : tensor<2xi32>} : () -> tensor<2xi32>
    %1 = "stablehlo.dynamic_gather"(%arg0, %arg1, %0) {dimension_numbers = #stablehlo.gather<offset_dims = [2, 2], collapsed_slice_dims = [], start_index_map = [0, 1], index_vector_dim = 1, operand_batching_dims = [], start_indices_batching_dims = []>, indices_are_sorted = false} : (tensor<5x6xf32>, tensor<3x2xi32>, tensor<2xi32>) -> tensor<3x?x3xf32>
    "func.return"(%1) : (tensor<3x?x3xf32>) -> ()
  }
}
// -----
// stablehlo.dynamic_gather C5: 0 <= offset_dims < rank(result)
module {
  func.func @main(%arg0: tensor<4x3xf32>, %arg1: tensor<3xi32>) -> tensor<3x3xf32> {
    %0 = "stablehlo.constant"() {value = dense<[1, 3]> : tensor<2xi32>} : () -> tensor<2xi32>
    %1 = "stablehlo.dynamic_gather"(%arg0, %arg1, %0) {dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1, operand_batching_dims = [], start_indices_batching_dims = []>, indices_are_sorted = false} : (tensor<4x3xf32>, tensor<3xi32>, tensor<2xi32>) -> tensor<3x3xf32>
    "func.return"(%1) : (tensor<3x3xf32>) -> ()
  }
}
// -----
// stablehlo.dynamic_gather C6: is_unique(collapsed_slice_dims) and is_sorted(collapsed_slice_dims)
module {
  func.func @main(%arg0: tensor<3x4xf32>, %arg1: tensor<3x2xi32>) -> tensor<3xf32> {
    %0 = "stablehlo.constant"() {value = dense<[1, 1]> : tensor<2xi32>} : () -> tensor<2xi32>
    %1 = "stablehlo.dynamic_gather"(%arg0, %arg1, %0) {dimension_numbers = #stablehlo.gather<offset_dims = [], collapsed_slice_dims = [1, 0], start_index_map = [0, 1], index_vector_dim = 1, operand_batching_dims = [], start_indices_batching_dims = []>, indices_are_sorted = false} : (tensor<3x4xf32>, tensor<3x2xi32>, tensor<2xi32>) -> tensor<3xf32>
    "func.return"(%1) : (tensor<3xf32>) -> ()
  }
}
// -----
// stablehlo.dynamic_gather C7: 0 <= collapsed_slice_dims < rank(operand)
module {
  func.func @main(%arg0: tensor<4x3xf32>, %arg1: tensor<3xi32>) -> tensor<3x1x?xf32> {
    %0 = "stablehlo.constant"() {value = dense<[1, 3]> : tensor<2xi32>} : () -> tensor<2xi32>
    %1 = "stablehlo.dynamic_gather"(%arg0, %arg1, %0) {dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [-1], start_index_map = [0], index_vector_dim = 1, operand_batching_dims = [], start_indices_batching_dims = []>, indices_are_sorted = false} : (tensor<4x3xf32>, tensor<3xi32>, tensor<2xi32>) -> tensor<3x1x?xf32>
    "func.return"(%1) : (tensor<3x1x?xf32>) -> ()
  }
}
// -----
// stablehlo.dynamic_gather C8: slice_sizes[collapsed_slice_dims...] <= 1
module {
  func.func @main(%arg0: tensor<4x3xf32>, %arg1: tensor<3xi32>) -> tensor<3x1xf32> {
    %0 = "stablehlo.constant"() {value = dense<[1, 3]> : tensor<2xi32>} : () -> tensor<2xi32>
    %1 = "stablehlo.dynamic_gather"(%arg0, %arg1, %0) {dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [1], start_index_map = [0], index_vector_dim = 1, operand_batching_dims = [], start_indices_batching_dims = []>, indices_are_sorted = false} : (tensor<4x3xf32>, tensor<3xi32>, tensor<2xi32>) -> tensor<3x1xf32>
    "func.return"(%1) : (tensor<3x1xf32>) -> ()
  }
}
// -----
// stablehlo.dynamic_gather C9, with others: is_unique(start_index_map)
module {
  func.func @main(%arg0: tensor<3x4xf32>, %arg1: tensor<3x2xi32>) -> tensor<3xf32> {
    %0 = "stablehlo.constant"() {value = dense<[1, 1]> : tensor<2xi32>} : () -> tensor<2xi32>
    %1 = "stablehlo.dynamic_gather"(%arg0, %arg1, %0) {dimension_numbers = #stablehlo.gather<offset_dims = [], collapsed_slice_dims = [0, 1], start_index_map = [1, 1], index_vector_dim = 1, operand_batching_dims = [], start_indices_batching_dims = []>, indices_are_sorted = false} : (tensor<3x4xf32>, tensor<3x2xi32>, tensor<2xi32>) -> tensor<3xf32>
    "func.return"(%1) : (tensor<3xf32>) -> ()
  }
}
// -----
// stablehlo.dynamic_gather C10: 0 <= start_index_map < rank(operand)
module {
  func.func @main(%arg0: tensor<4x3xf32>, %arg1: tensor<3xi32>) -> tensor<3x3xf32> {
    %0 = "stablehlo.constant"() {value = dense<[1, 3]> : tensor<2xi32>} : () -> tensor<2xi32>
    %1 = "stablehlo.dynamic_gather"(%arg0, %arg1, %0) {dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [-1], index_vector_dim = 1, operand_batching_dims = [], start_indices_batching_dims = []>, indices_are_sorted = false} : (tensor<4x3xf32>, tensor<3xi32>, tensor<2xi32>) -> tensor<3x3xf32>
    "func.return"(%1) : (tensor<3x3xf32>) -> ()
  }
}
// -----
// stablehlo.dynamic_gather C11: size(slice_sizes) = rank(operand)
module {
  func.func @main(%arg0: tensor<4x3xf32>, %arg1: tensor<3xi32>) -> tensor<3x3x?xf32> {
    %0 = "stablehlo.constant"() {value = dense<[1, 3, 1]> : tensor<3xi32>} : () -> tensor<3xi32>
    %1 = "stablehlo.dynamic_gather"(%arg0, %arg1, %0) {dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1, operand_batching_dims = [], start_indices_batching_dims = []>, indices_are_sorted = false} : (tensor<4x3xf32>, tensor<3xi32>, tensor<3xi32>) -> tensor<3x3x?xf32>
    "func.return"(%1) : (tensor<3x3x?xf32>) -> ()
  }
}
// -----
// stablehlo.dynamic_gather C12: 0 <= slice_sizes <= shape(operand)
module {
  func.func @main(%arg0: tensor<0x3xf32>, %arg1: tensor<3xi32>) -> tensor<3x3xf32> {
    %0 = "stablehlo.constant"() {value = dense<[1, 3]> : tensor<2xi32>} : () -> tensor<2xi32>
    %1 = "stablehlo.dynamic_gather"(%arg0, %arg1, %0) {dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1, operand_batching_dims = [], start_indices_batching_dims = []>, indices_are_sorted = false} : (tensor<0x3xf32>, tensor<3xi32>, tensor<2xi32>) -> tensor<3x3xf32>
    "func.return"(%1) : (tensor<3x3xf32>) -> ()
  }
}
// -----
// stablehlo.dynamic_gather C13: shape(result) = combine(batch_dim_sizes, offset_dim_sizes)
module {
  func.func @main(%arg0: tensor<4x3xf32>, %arg1: tensor<4xi32>) -> tensor<3x3xf32> {
    %0 = "stablehlo.constant"() {value = dense<[1, 3]> : tensor<2xi32>} : () -> tensor<2xi32>
    %1 = "stablehlo.dynamic_gather"(%arg0, %arg1, %0) {dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1, operand_batching_dims = [], start_indices_batching_dims = []>, indices_are_sorted = false} : (tensor<4x3xf32>, tensor<4xi32>, tensor<2xi32>) -> tensor<3x3xf32>
    "func.return"(%1) : (tensor<3x3xf32>) -> ()
  }
}
// -----
// stablehlo.dynamic_gather C14: element_type(operand) = element_type(result)
module {
  func.func @main(%arg0: tensor<4x3xf64>, %arg1: tensor<3xi32>) -> tensor<3x3xf32> {
    %0 = "stablehlo.constant"() {value = dense<[1, 3]> : tensor<2xi32>} : () -> tensor<2xi32>
    %1 = "stablehlo.dynamic_gather"(%arg0, %arg1, %0) {dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1, operand_batching_dims = [], start_indices_batching_dims = []>, indices_are_sorted = false} : (tensor<4x3xf64>, tensor<3xi32>, tensor<2xi32>) -> tensor<3x3xf32>
    "func.return"(%1) : (tensor<3x3xf32>) -> ()
  }
}
// -----
// stablehlo.dynamic_gather batching: operand_batching_dims and start_indices_batching_dims are as C6 and C8 to C18 of `gather` say
module {
  func.func @main(%arg0: tensor<4x3xf32>, %arg1: tensor<3xi32>) -> tensor<3x3xf32> {
    %0 = "stablehlo.constant"() {value = dense<[1, 3]> : tensor<2xi32>} : () -> tensor<2xi32>
    %1 = "stablehlo.dynamic_gather"(%arg0, %arg1, %0) {dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1, operand_batching_dims = [], start_indices_batching_dims = [0]>, indices_are_sorted = false} : (tensor<4x3xf32>, tensor<3xi32>, tensor<2xi32>) -> tensor<3x3xf32>
    "func.return"(%1) : (tensor<3x3xf32>) -> ()
  }
}
// -----
// stablehlo.scatter C1: same(shape(inputs...))
module {
  func.func @main(%arg0: tensor<5x3xf32>, %arg1: tensor<4x3xf32>, %arg2: tensor<3xi32>, %arg3: tensor<3x3xf32>, %arg4: tensor<3x3xf32>) -> (tensor<5x3xf32>, tensor<4x3xf32>) {
    %0:2 = "stablehlo.scatter"(%arg0, %arg1, %arg2, %arg3, %arg4) ({
    ^bb0(%arg5: tensor<f32>, %arg6: tensor<f32>, %arg7: tensor<f32>, %arg8: tensor<f32>):
      %1 = "stablehlo.add"(%arg5, %arg7) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      %2 = "stablehlo.maximum"(%arg6, %arg8) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%1, %2) : (tensor<f32>, tensor<f32>) -> ()
    }) {indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], input_batching_dims = [], scatter_indices_batching_dims = [], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, unique_indices = false} : (tensor<5x3xf32>, tensor<4x3xf32>, tensor<3xi32>, tensor<3x3xf32>, tensor<3x3xf32>) -> (tensor<5x3xf32>, tensor<4x3xf32>)
    "func.return"(%0#0, %0#1) : (tensor<5x3xf32>, tensor<4x3xf32>) -> ()
  }
}
// -----
// stablehlo.scatter C2: rank(inputs[0]) = size(update_window_dims) + size(inserted_window_dims) + size(input_batching_dims)
module {
  func.func @main(%arg0: tensor<4x3xf32>, %arg1: tensor<4x3xf32>, %arg2: tensor<3xi32>, %arg3: tensor<3x3xf32>, %arg4: tensor<3x3xf32>) -> (tensor<4x3xf32>, tensor<4x3xf32>) {
    %0:2 = "stablehlo.scatter"(%arg0, %arg1, %arg2, %arg3, %arg4) ({
    ^bb0(%arg5: tensor<f32>, %arg6: tensor<f32>, %arg7: tensor<f32>, %arg8: tensor<f32>):
      %1 = "stablehlo.add"(%arg5, %arg7) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      %2 = "stablehlo.maximum"(%arg6, %arg8) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%1, %2) : (tensor<f32>, tensor<f32>) -> ()
    }) {indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [], input_batching_dims = [], scatter_indices_batching_dims = [], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, unique_indices = false} : (tensor<4x3xf32>, tensor<4x3xf32>, tensor<3xi32>, tensor<3x3xf32>, tensor<3x3xf32>) -> (tensor<4x3xf32>, tensor<4x3xf32>)
    "func.return"(%0#0, %0#1) : (tensor<4x3xf32>, tensor<4x3xf32>) -> ()
  }
}
// -----
// stablehlo.scatter C3: same(shape(updates...))
module {
  func.func @main(%arg0: tensor<4x3xf32>, %arg1: tensor<4x3xf32>, %arg2: tensor<3xi32>, %arg3: tensor<3x2xf32>, %arg4: tensor<3x3xf32>) -> (tensor<4x3xf32>, tensor<4x3xf32>) {
    %0:2 = "stablehlo.scatter"(%arg0, %arg1, %arg2, %arg3, %arg4) ({
    ^bb0(%arg5: tensor<f32>, %arg6: tensor<f32>, %arg7: tensor<f32>, %arg8: tensor<f32>):
      %1 = "stablehlo.add"(%arg5, %arg7) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      %2 = "stablehlo.maximum"(%arg6, %arg8) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%1, %2) : (tensor<f32>, tensor<f32>) -> ()
    }) {indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], input_batching_dims = [], scatter_indices_batching_dims = [], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, unique_indices = false} : (tensor<4x3xf32>, tensor<4x3xf32>, tensor<3xi32>, tensor<3x2xf32>, tensor<3x3xf32>) -> (tensor<4x3xf32>, tensor<4x3xf32>)
    "func.return"(%0#0, %0#1) : (tensor<4x3xf32>, tensor<4x3xf32>) -> ()
  }
}
// -----
// stablehlo.scatter C4: shape(updates[0]) = combine(update_scatter_dim_sizes, update_window_dim_sizes)
module {
  func.func @main(%arg0: tensor<4x3xf32>, %arg1: tensor<4x3xf32>, %arg2: tensor<4xi32>, %arg3: tensor<3x3xf32>, %arg4: tensor<3x3xf32>) -> (tensor<4x3xf32>, tensor<4x3xf32>) {
    %0:2 = "stablehlo.scatter"(%arg0, %arg1, %arg2, %arg3, %arg4) ({
    ^bb0(%arg5: tensor<f32>, %arg6: tensor<f32>, %arg7: tensor<f32>, %arg8: tensor<f32>):
      %1 = "stablehlo.add"(%arg5, %arg7) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      %2 = "stablehlo.maximum"(%arg6, %arg8) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%1, %2) : (tensor<f32>, tensor<f32>) -> ()
    }) {indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], input_batching_dims = [], scatter_indices_batching_dims = [], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, unique_indices = false} : (tensor<4x3xf32>, tensor<4x3xf32>, tensor<4xi32>, tensor<3x3xf32>, tensor<3x3xf32>) -> (tensor<4x3xf32>, tensor<4x3xf32>)
    "func.return"(%0#0, %0#1) : (tensor<4x3xf32>, tensor<4x3xf32>) -> ()
  }
}
// -----
// stablehlo.scatter C5, with others: 0 < size(inputs) = size(updates)
module {
  func.func @main(%arg0: tensor<4xi32>) {
    "stablehlo.scatter"(%arg0) ({
      "stablehlo.return"() : () -> ()
    }) {indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], input_batching_dims = [], scatter_indices_batching_dims = [], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, unique_indices = false} : (tensor<4xi32>) -> ()
    "func.return"() : () -> ()
  }
}
// -----
// stablehlo.scatter C6: element_type(updates...) = element_type(inputs...)
module {
  func.func @main(%arg0: tensor<4x3xf16>, %arg1: tensor<4x3xf32>, %arg2: tensor<3xi32>, %arg3: tensor<3x3xf32>, %arg4: tensor<3x3xf32>) -> (tensor<4x3xf32>, tensor<4x3xf32>) {
    %0:2 = "stablehlo.scatter"(%arg0, %arg1, %arg2, %arg3, %arg4) ({
    ^bb0(%arg5: tensor<f32>, %arg6: tensor<f32>, %arg7: tensor<f32>, %arg8: tensor<f32>):
      %1 = "stablehlo.add"(%arg5, %arg7) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      %2 = "stablehlo.maximum"(%arg6, %arg8) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%1, %2) : (tensor<f32>, tensor<f32>) -> ()
    }) {indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], input_batching_dims = [], scatter_indices_batching_dims = [], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, unique_indices = false} : (tensor<4x3xf16>, tensor<4x3xf32>, tensor<3xi32>, tensor<3x3xf32>, tensor<3x3xf32>) -> (tensor<4x3xf32>, tensor<4x3xf32>)
    "func.return"(%0#0, %0#1) : (tensor<4x3xf32>, tensor<4x3xf32>) -> ()
  }
}
// -----
// stablehlo.scatter C7: is_unique(update_window_dims) and is_sorted(update_window_dims)
module {
  func.func @main(%arg0: tensor<5x6xf32>, %arg1: tensor<3x2xi32>, %arg2: tensor<2x3x3xf32>) -> tensor<5x6xf32> {
    %0 = "stablehlo.scatter"(%arg0, %arg1, %arg2) ({
    ^bb0(%arg3: tensor<f32>, %arg4: tensor<f32>):
      "stablehlo.return"(%arg4) : (tensor<f32>) -> ()
    }) {indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [2, 0], inserted_window_dims = [], input_batching_dims = [], scatter_indices_batching_dims = [], scatter_dims_to_operand_dims = [0, 1], index_vector_dim = 1>, unique_indices = false} : (tensor<5x6xf32>, tensor<3x2xi32>, tensor<2x3x3xf32>) -> tensor<5x6xf32>
    "func.return"(%0) : (tensor<5x6xf32>) -> ()
  }
}
// -----
// stablehlo.scatter C8: 0 <= update_window_dims < rank(updates[0])
module {
  func.func @main(%arg0: tensor<4x3xf32>, %arg1: tensor<4x3xf32>, %arg2: tensor<3xi32>, %arg3: tensor<3xf32>, %arg4: tensor<3xf32>) -> (tensor<4x3xf32>, tensor<4x3xf32>) {
    %0:2 = "stablehlo.scatter"(%arg0, %arg1, %arg2, %arg3, %arg4) ({
    ^bb0(%arg5: tensor<f32>, %arg6: tensor<f32>, %arg7: tensor<f32>, %arg8: tensor<f32>):
      %1 = "stablehlo.add"(%arg5, %arg7) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      %2 = "stablehlo.maximum"(%arg6, %arg8) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%1, %2) : (tensor<f32>, tensor<f32>) -> ()
    }) {indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], input_batching_dims = [], scatter_indices_batching_dims = [], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, unique_indices = false} : (tensor<4x3xf32>, tensor<4x3xf32>, tensor<3xi32>, tensor<3xf32>, tensor<3xf32>) -> (tensor<4x3xf32>, tensor<4x3xf32>)
    "func.return"(%0#0, %0#1) : (tensor<4x3xf32>, tensor<4x3xf32>) -> ()
  }
}
// -----
// stablehlo.scatter C9: is_unique(concatenate(inserted_window_dims, input_batching_dims))
module {
  func.func @main(%arg0: tensor<3x4xf32>, %arg1: tensor<3x2xi32>, %arg2: tensor<3xf32>) -> tensor<3x4xf32> {
    %0 = "stablehlo.scatter"(%arg0, %arg1, %arg2) ({
    ^bb0(%arg3: tensor<f32>, %arg4: tensor<f32>):
      "stablehlo.return"(%arg4) : (tensor<f32>) -> ()
    }) {indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [], inserted_window_dims = [1, 1], input_batching_dims = [], scatter_indices_batching_dims = [], scatter_dims_to_operand_dims = [0, 1], index_vector_dim = 1>, unique_indices = false} : (tensor<3x4xf32>, tensor<3x2xi32>, tensor<3xf32>) -> tensor<3x4xf32>
    "func.return"(%0) : (tensor<3x4xf32>) -> ()
  }
}
// -----
// stablehlo.scatter C10: is_sorted(inserted_window_dims)
module {
  func.func @main(%arg0: tensor<3x4xf32>, %arg1: tensor<3x2xi32>, %arg2: tensor<3xf32>) -> tensor<3x4xf32> {
    %0 = "stablehlo.scatter"(%arg0, %arg1, %arg2) ({
    ^bb0(%arg3: tensor<f32>, %arg4: tensor<f32>):
      "stablehlo.return"(%arg4) : (tensor<f32>) -> ()
    }) {indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [], inserted_window_dims = [1, 0], input_batching_dims = [], scatter_indices_batching_dims = [], scatter_dims_to_operand_dims = [0, 1], index_vector_dim = 1>, unique_indices = false} : (tensor<3x4xf32>, tensor<3x2xi32>, tensor<3xf32>) -> tensor<3x4xf32>
    "func.return"(%0) : (tensor<3x4xf32>) -> ()
  }
}
// -----
// stablehlo.scatter C11: 0 <= inserted_window_dims < rank(inputs[0])
module {
  func.func @main(%arg0: tensor<4x3xf32>, %arg1: tensor<4x3xf32>, %arg2: tensor<3xi32>, %arg3: tensor<3x3xf32>, %arg4: tensor<3x3xf32>) -> (tensor<4x3xf32>, tensor<4x3xf32>) {
    %0:2 = "stablehlo.scatter"(%arg0, %arg1, %arg2, %arg3, %arg4) ({
    ^bb0(%arg5: tensor<f32>, %arg6: tensor<f32>, %arg7: tensor<f32>, %arg8: tensor<f32>):
      %1 = "stablehlo.add"(%arg5, %arg7) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      %2 = "stablehlo.maximum"(%arg6, %arg8) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%1, %2) : (tensor<f32>, tensor<f32>) -> ()
    }) {indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [-1], input_batching_dims = [], scatter_indices_batching_dims = [], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, unique_indices = false} : (tensor<4x3xf32>, tensor<4x3xf32>, tensor<3xi32>, tensor<3x3xf32>, tensor<3x3xf32>) -> (tensor<4x3xf32>, tensor<4x3xf32>)
    "func.return"(%0#0, %0#1) : (tensor<4x3xf32>, tensor<4x3xf32>) -> ()
  }
}
// -----
// stablehlo.scatter C12: is_sorted(input_batching_dims)
module {
  func.func @main(%arg0: tensor<2x2x4x5xf32>, %arg1: tensor<2x2x2xi32>, %arg2: tensor<2x2x2xf32>) -> tensor<2x2x4x5xf32> {
    %0 = "stablehlo.scatter"(%arg0, %arg1, %arg2) ({
    ^bb0(%arg3: tensor<f32>, %arg4: tensor<f32>):
      "stablehlo.return"(%arg4) : (tensor<f32>) -> ()
    }) {indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [2], inserted_window_dims = [2], input_batching_dims = [1, 0], scatter_indices_batching_dims = [0, 1], scatter_dims_to_operand_dims = [2, 3], index_vector_dim = 2>, unique_indices = false} : (tensor<2x2x4x5xf32>, tensor<2x2x2xi32>, tensor<2x2x2xf32>) -> tensor<2x2x4x5xf32>
    "func.return"(%0) : (tensor<2x2x4x5xf32>) -> ()
  }
}
// -----
// stablehlo.scatter C13, with others: 0 <= input_batching_dims < rank(inputs[0])
module {
  func.func @main(%arg0: tensor<4x3xf32>, %arg1: tensor<4x3xf32>, %arg2: tensor<3xi32>, %arg3: tensor<3x3xf32>, %arg4: tensor<3x3xf32>) -> (tensor<4x3xf32>, tensor<4x3xf32>) {
    %0:2 = "stablehlo.scatter"(%arg0, %arg1, %arg2, %arg3, %arg4) ({
    ^bb0(%arg5: tensor<f32>, %arg6: tensor<f32>, %arg7: tensor<f32>, %arg8: tensor<f32>):
      %1 = "stablehlo.add"(%arg5, %arg7) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      %2 = "stablehlo.maximum"(%arg6, %arg8) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%1, %2) : (tensor<f32>, tensor<f32>) -> ()
    }) {indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [], input_batching_dims = [2], scatter_indices_batching_dims = [], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, unique_indices = false} : (tensor<4x3xf32>, tensor<4x3xf32>, tensor<3xi32>, tensor<3x3xf32>, tensor<3x3xf32>) -> (tensor<4x3xf32>, tensor<4x3xf32>)
    "func.return"(%0#0, %0#1) : (tensor<4x3xf32>, tensor<4x3xf32>) -> ()
  }
}
// -----
// stablehlo.scatter C14, with others: is_unique(scatter_indices_batching_dims)
module {
  func.func @main(%arg0: tensor<4x3xf32>, %arg1: tensor<4x3xf32>, %arg2: tensor<3xi32>, %arg3: tensor<3x3xf32>, %arg4: tensor<3x3xf32>) -> (tensor<4x3xf32>, tensor<4x3xf32>) {
    %0:2 = "stablehlo.scatter"(%arg0, %arg1, %arg2, %arg3, %arg4) ({
    ^bb0(%arg5: tensor<f32>, %arg6: tensor<f32>, %arg7: tensor<f32>, %arg8: tensor<f32>):
      %1 = "stablehlo.add"(%arg5, %arg7) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      %2 = "stablehlo.maximum"(%arg6, %arg8) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%1, %2) : (tensor<f32>, tensor<f32>) -> ()
    }) {indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], input_batching_dims = [], scatter_indices_batching_dims = [0, 0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, unique_indices = false} : (tensor<4x3xf32>, tensor<4x3xf32>, tensor<3xi32>, tensor<3x3xf32>, tensor<3x3xf32>) -> (tensor<4x3xf32>, tensor<4x3xf32>)
    "func.return"(%0#0, %0#1) : (tensor<4x3xf32>, tensor<4x3xf32>) -> ()
  }
}
// -----
// stablehlo.scatter C15, with others: 0 <= scatter_indices_batching_dims < rank(scatter_indices)
module {
  func.func @main(%arg0: tensor<4x3xf32>, %arg1: tensor<4x3xf32>, %arg2: tensor<3xi32>, %arg3: tensor<3x3xf32>, %arg4: tensor<3x3xf32>) -> (tensor<4x3xf32>, tensor<4x3xf32>) {
    %0:2 = "stablehlo.scatter"(%arg0, %arg1, %arg2, %arg3, %arg4) ({
    ^bb0(%arg5: tensor<f32>, %arg6: tensor<f32>, %arg7: tensor<f32>, %arg8: tensor<f32>):
      %1 = "stablehlo.add"(%arg5, %arg7) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      %2 = "stablehlo.maximum"(%arg6, %arg8) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%1, %2) : (tensor<f32>, tensor<f32>) -> ()
    }) {indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], input_batching_dims = [], scatter_indices_batching_dims = [1], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, unique_indices = false} : (tensor<4x3xf32>, tensor<4x3xf32>, tensor<3xi32>, tensor<3x3xf32>, tensor<3x3xf32>) -> (tensor<4x3xf32>, tensor<4x3xf32>)
    "func.return"(%0#0, %0#1) : (tensor<4x3xf32>, tensor<4x3xf32>) -> ()
  }
}
// -----
// stablehlo.scatter C16, with others: index_vector_dim not in scatter_indices_batching_dims
module {
  func.func @main(%arg0: tensor<3x4xf32>, %arg1: tensor<3x2xi32>, %arg2: tensor<3xf32>) -> tensor<3x4xf32> {
    %0 = "stablehlo.scatter"(%arg0, %arg1, %arg2) ({
    ^bb0(%arg3: tensor<f32>, %arg4: tensor<f32>):
      "stablehlo.return"(%arg4) : (tensor<f32>) -> ()
    }) {indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [], inserted_window_dims = [0, 1], input_batching_dims = [], scatter_indices_batching_dims = [1], scatter_dims_to_operand_dims = [0, 1], index_vector_dim = 1>, unique_indices = false} : (tensor<3x4xf32>, tensor<3x2xi32>, tensor<3xf32>) -> tensor<3x4xf32>
    "func.return"(%0) : (tensor<3x4xf32>) -> ()
  }
}
// -----
// stablehlo.scatter C17: size(input_batching_dims) = size(scatter_indices_batching_dims)
module {
  func.func @main(%arg0: tensor<4x3xf32>, %arg1: tensor<4x3xf32>, %arg2: tensor<3xi32>, %arg3: tensor<3x3xf32>, %arg4: tensor<3x3xf32>) -> (tensor<4x3xf32>, tensor<4x3xf32>) {
    %0:2 = "stablehlo.scatter"(%arg0, %arg1, %arg2, %arg3, %arg4) ({
    ^bb0(%arg5: tensor<f32>, %arg6: tensor<f32>, %arg7: tensor<f32>, %arg8: tensor<f32>):
      %1 = "stablehlo.add"(%arg5, %arg7) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      %2 = "stablehlo.maximum"(%arg6, %arg8) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%1, %2) : (tensor<f32>, tensor<f32>) -> ()
    }) {indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], input_batching_dims = [], scatter_indices_batching_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, unique_indices = false} : (tensor<4x3xf32>, tensor<4x3xf32>, tensor<3xi32>, tensor<3x3xf32>, tensor<3x3xf32>) -> (tensor<4x3xf32>, tensor<4x3xf32>)
    "func.return"(%0#0, %0#1) : (tensor<4x3xf32>, tensor<4x3xf32>) -> ()
  }
}
// -----
// stablehlo.scatter C18: dim(inputs[0], input_batching_dims...) = dim(scatter_indices, scatter_indices_batching_dims...)
module {
  func.func @main(%arg0: tensor<3x2x4x5xf32>, %arg1: tensor<2x2x2xi32>, %arg2: tensor<2x2x2xf32>) -> tensor<3x2x4x5xf32> {
    %0 = "stablehlo.scatter"(%arg0, %arg1, %arg2) ({
    ^bb0(%arg3: tensor<f32>, %arg4: tensor<f32>):
      "stablehlo.return"(%arg4) : (tensor<f32>) -> ()
    }) {indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [2], inserted_window_dims = [2], input_batching_dims = [0, 1], scatter_indices_batching_dims = [0, 1], scatter_dims_to_operand_dims = [2, 3], index_vector_dim = 2>, unique_indices = false} : (tensor<3x2x4x5xf32>, tensor<2x2x2xi32>, tensor<2x2x2xf32>) -> tensor<3x2x4x5xf32>
    "func.return"(%0) : (tensor<3x2x4x5xf32>) -> ()
  }
}
// -----
// stablehlo.scatter C19: size(scatter_dims_to_operand_dims) = index_vector_dim < rank(scatter_indices) ? dim(scatter_indices, index_vector_dim) : 1
module {
  func.func @main(%arg0: tensor<4x3xf32>, %arg1: tensor<4x3xf32>, %arg2: tensor<3xi32>, %arg3: tensor<3x3xf32>, %arg4: tensor<3x3xf32>) -> (tensor<4x3xf32>, tensor<4x3xf32>) {
    %0:2 = "stablehlo.scatter"(%arg0, %arg1, %arg2, %arg3, %arg4) ({
    ^bb0(%arg5: tensor<f32>, %arg6: tensor<f32>, %arg7: tensor<f32>, %arg8: tensor<f32>):
      %1 = "stablehlo.add"(%arg5, %arg7) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      %2 = "stablehlo.maximum"(%arg6, %arg8) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%1, %2) : (tensor<f32>, tensor<f32>) -> ()
    }) {indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], input_batching_dims = [], scatter_indices_batching_dims = [], scatter_dims_to_operand_dims = [], index_vector_dim = 1>, unique_indices = false} : (tensor<4x3xf32>, tensor<4x3xf32>, tensor<3xi32>, tensor<3x3xf32>, tensor<3x3xf32>) -> (tensor<4x3xf32>, tensor<4x3xf32>)
    "func.return"(%0#0, %0#1) : (tensor<4x3xf32>, tensor<4x3xf32>) -> ()
  }
}
// -----
// stablehlo.scatter C20: is_unique(concatenate(scatter_dims_to_operand_dims, input_batching_dims))
module {
  func.func @main(%arg0: tensor<3x4xf32>, %arg1: tensor<3x2xi32>, %arg2: tensor<3xf32>) -> tensor<3x4xf32> {
    %0 = "stablehlo.scatter"(%arg0, %arg1, %arg2) ({
    ^bb0(%arg3: tensor<f32>, %arg4: tensor<f32>):
      "stablehlo.return"(%arg4) : (tensor<f32>) -> ()
    }) {indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [], inserted_window_dims = [0, 1], input_batching_dims = [], scatter_indices_batching_dims = [], scatter_dims_to_operand_dims = [1, 1], index_vector_dim = 1>, unique_indices = false} : (tensor<3x4xf32>, tensor<3x2xi32>, tensor<3xf32>) -> tensor<3x4xf32>
    "func.return"(%0) : (tensor<3x4xf32>) -> ()
  }
}
// -----
// stablehlo.scatter C21: 0 <= scatter_dims_to_operand_dims < rank(inputs[0])
module {
  func.func @main(%arg0: tensor<4x3xf32>, %arg1: tensor<4x3xf32>, %arg2: tensor<3xi32>, %arg3: tensor<3x3xf32>, %arg4: tensor<3x3xf32>) -> (tensor<4x3xf32>, tensor<4x3xf32>) {
    %0:2 = "stablehlo.scatter"(%arg0, %arg1, %arg2, %arg3, %arg4) ({
    ^bb0(%arg5: tensor<f32>, %arg6: tensor<f32>, %arg7: tensor<f32>, %arg8: tensor<f32>):
      %1 = "stablehlo.add"(%arg5, %arg7) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      %2 = "stablehlo.maximum"(%arg6, %arg8) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%1, %2) : (tensor<f32>, tensor<f32>) -> ()
    }) {indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], input_batching_dims = [], scatter_indices_batching_dims = [], scatter_dims_to_operand_dims = [-1], index_vector_dim = 1>, unique_indices = false} : (tensor<4x3xf32>, tensor<4x3xf32>, tensor<3xi32>, tensor<3x3xf32>, tensor<3x3xf32>) -> (tensor<4x3xf32>, tensor<4x3xf32>)
    "func.return"(%0#0, %0#1) : (tensor<4x3xf32>, tensor<4x3xf32>) -> ()
  }
}
// -----
// stablehlo.scatter C22: 0 <= index_vector_dim <= rank(scatter_indices)
module {
  func.func @main(%arg0: tensor<4x3xf32>, %arg1: tensor<4x3xf32>, %arg2: tensor<3xi32>, %arg3: tensor<3x3xf32>, %arg4: tensor<3x3xf32>) -> (tensor<4x3xf32>, tensor<4x3xf32>) {
    %0:2 = "stablehlo.scatter"(%arg0, %arg1, %arg2, %arg3, %arg4) ({
    ^bb0(%arg5: tensor<f32>, %arg6: tensor<f32>, %arg7: tensor<f32>, %arg8: tensor<f32>):
      %1 = "stablehlo.add"(%arg5, %arg7) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      %2 = "stablehlo.maximum"(%arg6, %arg8) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%1, %2) : (tensor<f32>, tensor<f32>) -> ()
    }) {indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], input_batching_dims = [], scatter_indices_batching_dims = [], scatter_dims_to_operand_dims = [0], index_vector_dim = 2>, unique_indices = false} : (tensor<4x3xf32>, tensor<4x3xf32>, tensor<3xi32>, tensor<3x3xf32>, tensor<3x3xf32>) -> (tensor<4x3xf32>, tensor<4x3xf32>)
    "func.return"(%0#0, %0#1) : (tensor<4x3xf32>, tensor<4x3xf32>) -> ()
  }
}
// -----
// stablehlo.scatter C23: update_computation combines pairs of types Ei to which inputs are promotable
module {
  func.func @main(%arg0: tensor<4x3xf32>, %arg1: tensor<4x3xf32>, %arg2: tensor<3xi32>, %arg3: tensor<3x3xf32>, %arg4: tensor<3x3xf32>) -> (tensor<4x3xf32>, tensor<4x3xf32>) {
    %0:2 = "stablehlo.scatter"(%arg0, %arg1, %arg2, %arg3, %arg4) ({
    ^bb0(%arg5: tensor<i1>, %arg6: tensor<i1>, %arg7: tensor<i1>, %arg8: tensor<i1>):
      %1 = "stablehlo.add"(%arg5, %arg7) : (tensor<i1>, tensor<i1>) -> tensor<i1>
      %2 = "stablehlo.maximum"(%arg6, %arg8) : (tensor<i1>, tensor<i1>) -> tensor<i1>
      "stablehlo.return"(%1, %2) : (tensor<i1>, tensor<i1>) -> ()
    }) {indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], input_batching_dims = [], scatter_indices_batching_dims = [], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, unique_indices = false} : (tensor<4x3xf32>, tensor<4x3xf32>, tensor<3xi32>, tensor<3x3xf32>, tensor<3x3xf32>) -> (tensor<4x3xf32>, tensor<4x3xf32>)
    "func.return"(%0#0, %0#1) : (tensor<4x3xf32>, tensor<4x3xf32>) -> ()
  }
}
// -----
// stablehlo.scatter C24: size(results) = size(inputs) and shape(results...) = shape(inputs...)
module {
  func.func @main(%arg0: tensor<4x3xf32>, %arg1: tensor<4x3xf32>, %arg2: tensor<3xi32>, %arg3: tensor<3x3xf32>, %arg4: tensor<3x3xf32>) -> (tensor<5x3xf32>, tensor<4x3xf32>) {
    %0:2 = "stablehlo.scatter"(%arg0, %arg1, %arg2, %arg3, %arg4) ({
    ^bb0(%arg5: tensor<f32>, %arg6: tensor<f32>, %arg7: tensor<f32>, %arg8: tensor<f32>):
      %1 = "stablehlo.add"(%arg5, %arg7) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      %2 = "stablehlo.maximum"(%arg6, %arg8) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%1, %2) : (tensor<f32>, tensor<f32>) -> ()
    }) {indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], input_batching_dims = [], scatter_indices_batching_dims = [], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, unique_indices = false} : (tensor<4x3xf32>, tensor<4x3xf32>, tensor<3xi32>, tensor<3x3xf32>, tensor<3x3xf32>) -> (tensor<5x3xf32>, tensor<4x3xf32>)
    "func.return"(%0#0, %0#1) : (tensor<5x3xf32>, tensor<4x3xf32>) -> ()
  }
}
// -----
// stablehlo.scatter C25: element_type(results) = Ei, or that of inputs
module {
  func.func @main(%arg0: tensor<4x3xf32>, %arg1: tensor<4x3xf32>, %arg2: tensor<3xi32>, %arg3: tensor<3x3xf32>, %arg4: tensor<3x3xf32>) -> (tensor<4x3xf64>, tensor<4x3xf32>) {
    %0:2 = "stablehlo.scatter"(%arg0, %arg1, %arg2, %arg3, %arg4) ({
    ^bb0(%arg5: tensor<f32>, %arg6: tensor<f32>, %arg7: tensor<f32>, %arg8: tensor<f32>):
      %1 = "stablehlo.add"(%arg5, %arg7) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      %2 = "stablehlo.maximum"(%arg6, %arg8) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%1, %2) : (tensor<f32>, tensor<f32>) -> ()
    }) {indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], input_batching_dims = [], scatter_indices_batching_dims = [], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, unique_indices = false} : (tensor<4x3xf32>, tensor<4x3xf32>, tensor<3xi32>, tensor<3x3xf32>, tensor<3x3xf32>) -> (tensor<4x3xf64>, tensor<4x3xf32>)
    "func.return"(%0#0, %0#1) : (tensor<4x3xf64>, tensor<4x3xf32>) -> ()
  }
}
// -----
// stablehlo.reduce C1: same(shape(inputs...))
module {
  func.func @main(%arg0: tensor<3x4xf32>, %arg1: tensor<2x4xi32>, %arg2: tensor<f32>, %arg3: tensor<i32>) -> (tensor<3xf32>, tensor<3xi32>) {
    %0:2 = "stablehlo.reduce"(%arg0, %arg1, %arg2, %arg3) ({
    ^bb0(%arg4: tensor<f32>, %arg5: tensor<i32>, %arg6: tensor<f32>, %arg7: tensor<i32>):
      %1 = "stablehlo.compare"(%arg4, %arg6) {comparison_direction = #stablehlo<comparison_direction GT>} : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %2 = "stablehlo.compare"(%arg4, %arg6) {comparison_direction = #stablehlo<comparison_direction EQ>} : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %3 = "stablehlo.compare"(%arg5, %arg7) {comparison_direction = #stablehlo<comparison_direction LT>} : (tensor<i32>, tensor<i32>) -> tensor<i1>
      %4 = "stablehlo.and"(%2, %3) : (tensor<i1>, tensor<i1>) -> tensor<i1>
      %5 = "stablehlo.or"(%1, %4) : (tensor<i1>, tensor<i1>) -> tensor<i1>
      %6 = "stablehlo.select"(%5, %arg4, %arg6) : (tensor<i1>, tensor<f32>, tensor<f32>) -> tensor<f32>
      %7 = "stablehlo.select"(%5, %arg5, %arg7) : (tensor<i1>, tensor<i32>, tensor<i32>) -> tensor<i32>
      "stablehlo.return"(%6, %7) : (tensor<f32>, tensor<i32>) -> ()
    }) {dimensions = array<i64: 1>} : (tensor<3x4xf32>, tensor<2x4xi32>, tensor<f32>, tensor<i32>) -> (tensor<3xf32>, tensor<3xi32>)
    "func.return"(%0#0, %0#1) : (tensor<3xf32>, tensor<3xi32>) -> ()
  }
}
// -----
// stablehlo.reduce C2: element_type(init_values...) = element_type(inputs...)
module {
  func.func @main(%arg0: tensor<2x4xf16>, %arg1: tensor<2x4xi32>, %arg2: tensor<f32>, %arg3: tensor<i32>) -> (tensor<2xf32>, tensor<2xi32>) {
    %0:2 = "stablehlo.reduce"(%arg0, %arg1, %arg2, %arg3) ({
    ^bb0(%arg4: tensor<f32>, %arg5: tensor<i32>, %arg6: tensor<f32>, %arg7: tensor<i32>):
      %1 = "stablehlo.compare"(%arg4, %arg6) {comparison_direction = #stablehlo<comparison_direction GT>} : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %2 = "stablehlo.compare"(%arg4, %arg6) {comparison_direction = #stablehlo<comparison_direction EQ>} : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %3 = "stablehlo.compare"(%arg5, %arg7) {comparison_direction = #stablehlo<comparison_direction LT>} : (tensor<i32>, tensor<i32>) -> tensor<i1>
      %4 = "stablehlo.and"(%2, %3) : (tensor<i1>, tensor<i1>) -> tensor<i1>
      %5 = "stablehlo.or"(%1, %4) : (tensor<i1>, tensor<i1>) -> tensor<i1>
      %6 = "stablehlo.select"(%5, %arg4, %arg6) : (tensor<i1>, tensor<f32>, tensor<f32>) -> tensor<f32>
      %7 = "stablehlo.select"(%5, %arg5, %arg7) : (tensor<i1>, tensor<i32>, tensor<i32>) -> tensor<i32>
      "stablehlo.return"(%6, %7) : (tensor<f32>, tensor<i32>) -> ()
    }) {dimensions = array<i64: 1>} : (tensor<2x4xf16>, tensor<2x4xi32>, tensor<f32>, tensor<i32>) -> (tensor<2xf32>, tensor<2xi32>)
    "func.return"(%0#0, %0#1) : (tensor<2xf32>, tensor<2xi32>) -> ()
  }
}
// -----
// stablehlo.reduce C3: 0 < size(inputs) = size(init_values) = size(results) = N
module {
  func.func @main(%arg0: tensor<2x4xf32>, %arg1: tensor<2x4xi32>, %arg2: tensor<f32>, %arg3: tensor<i32>) -> tensor<2xf32> {
    %0 = "stablehlo.reduce"(%arg0, %arg1, %arg2, %arg3) ({
    ^bb0(%arg4: tensor<f32>, %arg5: tensor<i32>, %arg6: tensor<f32>, %arg7: tensor<i32>):
      %1 = "stablehlo.compare"(%arg4, %arg6) {comparison_direction = #stablehlo<comparison_direction GT>} : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %2 = "stablehlo.compare"(%arg4, %arg6) {comparison_direction = #stablehlo<comparison_direction EQ>} : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %3 = "stablehlo.compare"(%arg5, %arg7) {comparison_direction = #stablehlo<comparison_direction LT>} : (tensor<i32>, tensor<i32>) -> tensor<i1>
      %4 = "stablehlo.and"(%2, %3) : (tensor<i1>, tensor<i1>) -> tensor<i1>
      %5 = "stablehlo.or"(%1, %4) : (tensor<i1>, tensor<i1>) -> tensor<i1>
      %6 = "stablehlo.select"(%5, %arg4, %arg6) : (tensor<i1>, tensor<f32>, tensor<f32>) -> tensor<f32>
      %7 = "stablehlo.select"(%5, %arg5, %arg7) : (tensor<i1>, tensor<i32>, tensor<i32>) -> tensor<i32>
      "stablehlo.return"(%6, %7) : (tensor<f32>, tensor<i32>) -> ()
    }) {dimensions = array<i64: 1>} : (tensor<2x4xf32>, tensor<2x4xi32>, tensor<f32>, tensor<i32>) -> tensor<2xf32>
    "func.return"(%0) : (tensor<2xf32>) -> ()
  }
}
// -----
// stablehlo.reduce C4: 0 <= dimensions < rank(inputs[0])
module {
  func.func @main(%arg0: tensor<2x4xf32>, %arg1: tensor<2x4xi32>, %arg2: tensor<f32>, %arg3: tensor<i32>) -> (tensor<2x4xf32>, tensor<2x4xi32>) {
    %0:2 = "stablehlo.reduce"(%arg0, %arg1, %arg2, %arg3) ({
    ^bb0(%arg4: tensor<f32>, %arg5: tensor<i32>, %arg6: tensor<f32>, %arg7: tensor<i32>):
      %1 = "stablehlo.compare"(%arg4, %arg6) {comparison_direction = #stablehlo<comparison_direction GT>} : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %2 = "stablehlo.compare"(%arg4, %arg6) {comparison_direction = #stablehlo<comparison_direction EQ>} : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %3 = "stablehlo.compare"(%arg5, %arg7) {comparison_direction = #stablehlo<comparison_direction LT>} : (tensor<i32>, tensor<i32>) -> tensor<i1>
      %4 = "stablehlo.and"(%2, %3) : (tensor<i1>, tensor<i1>) -> tensor<i1>
      %5 = "stablehlo.or"(%1, %4) : (tensor<i1>, tensor<i1>) -> tensor<i1>
      %6 = "stablehlo.select"(%5, %arg4, %arg6) : (tensor<i1>, tensor<f32>, tensor<f32>) -> tensor<f32>
      %7 = "stablehlo.select"(%5, %arg5, %arg7) : (tensor<i1>, tensor<i32>, tensor<i32>) -> tensor<i32>
      "stablehlo.return"(%6, %7) : (tensor<f32>, tensor<i32>) -> ()
    }) {dimensions = array<i64: 2>} : (tensor<2x4xf32>, tensor<2x4xi32>, tensor<f32>, tensor<i32>) -> (tensor<2x4xf32>, tensor<2x4xi32>)
    "func.return"(%0#0, %0#1) : (tensor<2x4xf32>, tensor<2x4xi32>) -> ()
  }
}
// -----
// stablehlo.reduce C5: is_unique(dimensions)
module {
  func.func @main(%arg0: tensor<2x4xf32>, %arg1: tensor<2x4xi32>, %arg2: tensor<f32>, %arg3: tensor<i32>) -> (tensor<2xf32>, tensor<2xi32>) {
    %0:2 = "stablehlo.reduce"(%arg0, %arg1, %arg2, %arg3) ({
    ^bb0(%arg4: tensor<f32>, %arg5: tensor<i32>, %arg6: tensor<f32>, %arg7: tensor<i32>):
      %1 = "stablehlo.compare"(%arg4, %arg6) {comparison_direction = #stablehlo<comparison_direction GT>} : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %2 = "stablehlo.compare"(%arg4, %arg6) {comparison_direction = #stablehlo<comparison_direction EQ>} : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %3 = "stablehlo.compare"(%arg5, %arg7) {comparison_direction = #stablehlo<comparison_direction LT>} : (tensor<i32>, tensor<i32>) -> tensor<i1>
      %4 = "stablehlo.and"(%2, %3) : (tensor<i1>, tensor<i1>) -> tensor<i1>
      %5 = "stablehlo.or"(%1, %4) : (tensor<i1>, tensor<i1>) -> tensor<i1>
      %6 = "stablehlo.select"(%5, %arg4, %arg6) : (tensor<i1>, tensor<f32>, tensor<f32>) -> tensor<f32>
      %7 = "stablehlo.select"(%5, %arg5, %arg7) : (tensor<i1>, tensor<i32>, tensor<i32>) -> tensor<i32>
      "stablehlo.return"(%6, %7) : (tensor<f32>, tensor<i32>) -> ()
    }) {dimensions = array<i64: 1, 1>} : (tensor<2x4xf32>, tensor<2x4xi32>, tensor<f32>, tensor<i32>) -> (tensor<2xf32>, tensor<2xi32>)
    "func.return"(%0#0, %0#1) : (tensor<2xf32>, tensor<2xi32>) -> ()
  }
}
// -----
// stablehlo.reduce C6: body combines pairs of types Ei to which inputs are promotable
module {
  func.func @main(%arg0: tensor<2x4xf32>, %arg1: tensor<2x4xi32>, %arg2: tensor<f32>, %arg3: tensor<i32>) -> (tensor<2xf32>, tensor<2xi32>) {
    %0:2 = "stablehlo.reduce"(%arg0, %arg1, %arg2, %arg3) ({
    ^bb0(%arg4: tensor<i1>, %arg5: tensor<i32>, %arg6: tensor<i1>, %arg7: tensor<i32>):
      %1 = "stablehlo.compare"(%arg4, %arg6) {comparison_direction = #stablehlo<comparison_direction GT>} : (tensor<i1>, tensor<i1>) -> tensor<i1>
      %2 = "stablehlo.compare"(%arg4, %arg6) {comparison_direction = #stablehlo<comparison_direction EQ>} : (tensor<i1>, tensor<i1>) -> tensor<i1>
      %3 = "stablehlo.compare"(%arg5, %arg7) {comparison_direction = #stablehlo<comparison_direction LT>} : (tensor<i32>, tensor<i32>) -> tensor<i1>
      %4 = "stablehlo.and"(%2, %3) : (tensor<i1>, tensor<i1>) -> tensor<i1>
      %5 = "stablehlo.or"(%1, %4) : (tensor<i1>, tensor<i1>) -> tensor<i1>
      %6 = "stablehlo.select"(%5, %arg4, %arg6) : (tensor<i1>, tensor<i1>, tensor<i1>) -> tensor<i1>
      %7 = "stablehlo.select"(%5, %arg5, %arg7) : (tensor<i1>, tensor<i32>, tensor<i32>) -> tensor<i32>
      "stablehlo.return"(%6, %7) : (tensor<i1>, tensor<i32>) -> ()
    }) {dimensions = array<i64: 1>} : (tensor<2x4xf32>, tensor<2x4xi32>, tensor<f32>, tensor<i32>) -> (tensor<2xf32>, tensor<2xi32>)
    "func.return"(%0#0, %0#1) : (tensor<2xf32>, tensor<2xi32>) -> ()
  }
}
// -----
// stablehlo.reduce C7: shape(results) = the shape of inputs without dimensions
module {
  func.func @main(%arg0: tensor<2x4xf32>, %arg1: tensor<2x4xi32>, %arg2: tensor<f32>, %arg3: tensor<i32>) -> (tensor<2xf32>, tensor<2xi32>) {
    %0:2 = "stablehlo.reduce"(%arg0, %arg1, %arg2, %arg3) ({
    ^bb0(%arg4: tensor<f32>, %arg5: tensor<i32>, %arg6: tensor<f32>, %arg7: tensor<i32>):
      %1 = "stablehlo.compare"(%arg4, %arg6) {comparison_direction = #stablehlo<comparison_direction GT>} : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %2 = "stablehlo.compare"(%arg4, %arg6) {comparison_direction = #stablehlo<comparison_direction EQ>} : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %3 = "stablehlo.compare"(%arg5, %arg7) {comparison_direction = #stablehlo<comparison_direction LT>} : (tensor<i32>, tensor<i32>) -> tensor<i1>
      %4 = "stablehlo.and"(%2, %3) : (tensor<i1>, tensor<i1>) -> tensor<i1>
      %5 = "stablehlo.or"(%1, %4) : (tensor<i1>, tensor<i1>) -> tensor<i1>
      %6 = "stablehlo.select"(%5, %arg4, %arg6) : (tensor<i1>, tensor<f32>, tensor<f32>) -> tensor<f32>
      %7 = "stablehlo.select"(%5, %arg5, %arg7) : (tensor<i1>, tensor<i32>, tensor<i32>) -> tensor<i32>
      "stablehlo.return"(%6, %7) : (tensor<f32>, tensor<i32>) -> ()
    }) {dimensions = array<i64: 0>} : (tensor<2x4xf32>, tensor<2x4xi32>, tensor<f32>, tensor<i32>) -> (tensor<2xf32>, tensor<2xi32>)
    "func.return"(%0#0, %0#1) : (tensor<2xf32>, tensor<2xi32>) -> ()
  }
}
// -----
// stablehlo.reduce C8: element_type(results) = Ei, or that of inputs
module {
  func.func @main(%arg0: tensor<2x4xf32>, %arg1: tensor<2x4xi32>, %arg2: tensor<f32>, %arg3: tensor<i32>) -> (tensor<2xf64>, tensor<2xi32>) {
    %0:2 = "stablehlo.reduce"(%arg0, %arg1, %arg2, %arg3) ({
    ^bb0(%arg4: tensor<f32>, %arg5: tensor<i32>, %arg6: tensor<f32>, %arg7: tensor<i32>):
      %1 = "stablehlo.compare"(%arg4, %arg6) {comparison_direction = #stablehlo<comparison_direction GT>} : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %2 = "stablehlo.compare"(%arg4, %arg6) {comparison_direction = #stablehlo<comparison_direction EQ>} : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %3 = "stablehlo.compare"(%arg5, %arg7) {comparison_direction = #stablehlo<comparison_direction LT>} : (tensor<i32>, tensor<i32>) -> tensor<i1>
      %4 = "stablehlo.and"(%2, %3) : (tensor<i1>, tensor<i1>) -> tensor<i1>
      %5 = "stablehlo.or"(%1, %4) : (tensor<i1>, tensor<i1>) -> tensor<i1>
      %6 = "stablehlo.select"(%5, %arg4, %arg6) : (tensor<i1>, tensor<f32>, tensor<f32>) -> tensor<f32>
      %7 = "stablehlo.select"(%5, %arg5, %arg7) : (tensor<i1>, tensor<i32>, tensor<i32>) -> tensor<i32>
      "stablehlo.return"(%6, %7) : (tensor<f32>, tensor<i32>) -> ()
    }) {dimensions = array<i64: 1>} : (tensor<2x4xf32>, tensor<2x4xi32>, tensor<f32>, tensor<i32>) -> (tensor<2xf64>, tensor<2xi32>)
    "func.return"(%0#0, %0#1) : (tensor<2xf64>, tensor<2xi32>) -> ()
  }
}
// -----
// stablehlo.map C1: shape(result) = shape(inputs)
module {
  func.func @main(%arg0: tensor<f32>, %arg1: tensor<1xf32>) -> tensor<f32> {
    %0 = "stablehlo.map"(%arg0, %arg1) ({
    ^bb0(%arg2: tensor<f32>, %arg3: tensor<f32>):
      %1 = "stablehlo.maximum"(%arg2, %arg3) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%1) : (tensor<f32>) -> ()
    }) {dimensions = array<i64>} : (tensor<f32>, tensor<1xf32>) -> tensor<f32>
    "func.return"(%0) : (tensor<f32>) -> ()
  }
}
// -----
// stablehlo.map C2, with others: 0 < size(inputs)
module {
  func.func @main() -> tensor<f32> {
    %0 = "stablehlo.map"() ({
    ^bb0(%arg0: tensor<f32>, %arg1: tensor<f32>):
      %1 = "stablehlo.maximum"(%arg0, %arg1) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%1) : (tensor<f32>) -> ()
    }) {dimensions = array<i64>} : () -> tensor<f32>
    "func.return"(%0) : (tensor<f32>) -> ()
  }
}
// -----
// stablehlo.map C3: dimensions = range(rank(inputs[0]))
module {
  func.func @main(%arg0: tensor<f32>, %arg1: tensor<f32>) -> tensor<f32> {
    %0 = "stablehlo.map"(%arg0, %arg1) ({
    ^bb0(%arg2: tensor<f32>, %arg3: tensor<f32>):
      %1 = "stablehlo.maximum"(%arg2, %arg3) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%1) : (tensor<f32>) -> ()
    }) {dimensions = array<i64: 0>} : (tensor<f32>, tensor<f32>) -> tensor<f32>
    "func.return"(%0) : (tensor<f32>) -> ()
  }
}
// -----
// stablehlo.map C4: computation has type (tensor<E0>, ..., tensor<EN-1>) -> tensor<E'>, Ei = element_type(inputs[i]), E' = element_type(result)
module {
  func.func @main(%arg0: tensor<f64>, %arg1: tensor<f32>) -> tensor<f32> {
    %0 = "stablehlo.map"(%arg0, %arg1) ({
    ^bb0(%arg2: tensor<f32>, %arg3: tensor<f32>):
      %1 = "stablehlo.maximum"(%arg2, %arg3) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%1) : (tensor<f32>) -> ()
    }) {dimensions = array<i64>} : (tensor<f64>, tensor<f32>) -> tensor<f32>
    "func.return"(%0) : (tensor<f32>) -> ()
  }
}
// -----
// stablehlo.reduce_window C1: 0 < size(inputs) = size(init_values) = size(results) = N
module {
  func.func @main(%arg0: tensor<5xf32>, %arg1: tensor<f32>) -> (tensor<3xf32>, tensor<3xf32>) {
    %0:2 = "stablehlo.reduce_window"(%arg0, %arg1) ({
    ^bb0(%arg2: tensor<f32>, %arg3: tensor<f32>):
      %1 = "stablehlo.add"(%arg2, %arg3) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%1) : (tensor<f32>) -> ()
    }) {base_dilations = array<i64: 1>, padding = dense<[[0, 0]]> : tensor<1x2xi64>, window_dilations = array<i64: 1>, window_dimensions = array<i64: 3>, window_strides = array<i64: 1>} : (tensor<5xf32>, tensor<f32>) -> (tensor<3xf32>, tensor<3xf32>)
    "func.return"(%0#0, %0#1) : (tensor<3xf32>, tensor<3xf32>) -> ()
  }
}
// -----
// stablehlo.reduce_window C2: same(shape(inputs...))
module {
  func.func @main(%arg0: tensor<6xf32>, %arg1: tensor<5xf32>, %arg2: tensor<f32>, %arg3: tensor<f32>) -> (tensor<3xf32>, tensor<3xf32>) {
    %0:2 = "stablehlo.reduce_window"(%arg0, %arg1, %arg2, %arg3) ({
    ^bb0(%arg4: tensor<f32>, %arg5: tensor<f32>, %arg6: tensor<f32>, %arg7: tensor<f32>):
      %1 = "stablehlo.add"(%arg4, %arg6) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      %2 = "stablehlo.maximum"(%arg5, %arg7) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%1, %2) : (tensor<f32>, tensor<f32>) -> ()
    }) {padding = dense<[[0, 1]]> : tensor<1x2xi64>, window_dimensions = array<i64: 2>, window_strides = array<i64: 2>} : (tensor<6xf32>, tensor<5xf32>, tensor<f32>, tensor<f32>) -> (tensor<3xf32>, tensor<3xf32>)
    "func.return"(%0#0, %0#1) : (tensor<3xf32>, tensor<3xf32>) -> ()
  }
}
// -----
// stablehlo.reduce_window C3: element_type(init_values...) = element_type(inputs...)
module {
  func.func @main(%arg0: tensor<5xf16>, %arg1: tensor<f32>) -> tensor<3xf32> {
    %0 = "stablehlo.reduce_window"(%arg0, %arg1) ({
    ^bb0(%arg2: tensor<f32>, %arg3: tensor<f32>):
      %1 = "stablehlo.add"(%arg2, %arg3) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%1) : (tensor<f32>) -> ()
    }) {base_dilations = array<i64: 1>, padding = dense<[[0, 0]]> : tensor<1x2xi64>, window_dilations = array<i64: 1>, window_dimensions = array<i64: 3>, window_strides = array<i64: 1>} : (tensor<5xf16>, tensor<f32>) -> tensor<3xf32>
    "func.return"(%0) : (tensor<3xf32>) -> ()
  }
}
// -----
// stablehlo.reduce_window C4, with others: size(window_dimensions) = rank(inputs[0])
module {
  func.func @main(%arg0: tensor<5xf32>, %arg1: tensor<f32>) -> tensor<3xf32> {
    %0 = "stablehlo.reduce_window"(%arg0, %arg1) ({
    ^bb0(%arg2: tensor<f32>, %arg3: tensor<f32>):
      %1 = "stablehlo.add"(%arg2, %arg3) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%1) : (tensor<f32>) -> ()
    }) {base_dilations = array<i64: 1>, padding = dense<[[0, 0]]> : tensor<1x2xi64>, window_dilations = array<i64: 1>, window_dimensions = array<i64>, window_strides = array<i64: 1>} : (tensor<5xf32>, tensor<f32>) -> tensor<3xf32>
    "func.return"(%0) : (tensor<3xf32>) -> ()
  }
}
// -----
// stablehlo.reduce_window C5: 0 < window_dimensions
module {
  func.func @main(%arg0: tensor<5xf32>, %arg1: tensor<f32>) -> tensor<3xf32> {
    %0 = "stablehlo.reduce_window"(%arg0, %arg1) ({
    ^bb0(%arg2: tensor<f32>, %arg3: tensor<f32>):
      %1 = "stablehlo.add"(%arg2, %arg3) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%1) : (tensor<f32>) -> ()
    }) {base_dilations = array<i64: 1>, padding = dense<[[0, 0]]> : tensor<1x2xi64>, window_dilations = array<i64: 1>, window_dimensions = array<i64: -1>, window_strides = array<i64: 1>} : (tensor<5xf32>, tensor<f32>) -> tensor<3xf32>
    "func.return"(%0) : (tensor<3xf32>) -> ()
  }
}
// -----
// stablehlo.reduce_window C6, with others: size(window_strides) = rank(inputs[0])
module {
  func.func @main(%arg0: tensor<5xf32>, %arg1: tensor<f32>) -> tensor<3xf32> {
    %0 = "stablehlo.reduce_window"(%arg0, %arg1) ({
    ^bb0(%arg2: tensor<f32>, %arg3: tensor<f32>):
      %1 = "stablehlo.add"(%arg2, %arg3) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%1) : (tensor<f32>) -> ()
    }) {base_dilations = array<i64: 1>, padding = dense<[[0, 0]]> : tensor<1x2xi64>, window_dilations = array<i64: 1>, window_dimensions = array<i64: 3>, window_strides = array<i64>} : (tensor<5xf32>, tensor<f32>) -> tensor<3xf32>
    "func.return"(%0) : (tensor<3xf32>) -> ()
  }
}
// -----
// stablehlo.reduce_window C7: 0 < window_strides
module {
  func.func @main(%arg0: tensor<5xf32>, %arg1: tensor<f32>) -> tensor<3xf32> {
    %0 = "stablehlo.reduce_window"(%arg0, %arg1) ({
    ^bb0(%arg2: tensor<f32>, %arg3: tensor<f32>):
      %1 = "stablehlo.add"(%arg2, %arg3) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%1) : (tensor<f32>) -> ()
    }) {base_dilations = array<i64: 1>, padding = dense<[[0, 0]]> : tensor<1x2xi64>, window_dilations = array<i64: 1>, window_dimensions = array<i64: 3>, window_strides = array<i64: -1>} : (tensor<5xf32>, tensor<f32>) -> tensor<3xf32>
    "func.return"(%0) : (tensor<3xf32>) -> ()
  }
}
// -----
// stablehlo.reduce_window C8, with others: size(base_dilations) = rank(inputs[0])
module {
  func.func @main(%arg0: tensor<5xf32>, %arg1: tensor<f32>) -> tensor<3xf32> {
    %0 = "stablehlo.reduce_window"(%arg0, %arg1) ({
    ^bb0(%arg2: tensor<f32>, %arg3: tensor<f32>):
      %1 = "stablehlo.add"(%arg2, %arg3) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%1) : (tensor<f32>) -> ()
    }) {base_dilations = array<i64>, padding = dense<[[0, 0]]> : tensor<1x2xi64>, window_dilations = array<i64: 1>, window_dimensions = array<i64: 3>, window_strides = array<i64: 1>} : (tensor<5xf32>, tensor<f32>) -> tensor<3xf32>
    "func.return"(%0) : (tensor<3xf32>) -> ()
  }
}
// -----
// stablehlo.reduce_window C9: 0 < base_dilations
module {
  func.func @main(%arg0: tensor<5xf32>, %arg1: tensor<f32>) -> tensor<0xf32> {
    %0 = "stablehlo.reduce_window"(%arg0, %arg1) ({
    ^bb0(%arg2: tensor<f32>, %arg3: tensor<f32>):
      %1 = "stablehlo.add"(%arg2, %arg3) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%1) : (tensor<f32>) -> ()
    }) {base_dilations = array<i64: 0>, padding = dense<[[0, 0]]> : tensor<1x2xi64>, window_dilations = array<i64: 1>, window_dimensions = array<i64: 3>, window_strides = array<i64: 1>} : (tensor<5xf32>, tensor<f32>) -> tensor<0xf32>
    "func.return"(%0) : (tensor<0xf32>) -> ()
  }
}
// -----
// stablehlo.reduce_window C10, with others: size(window_dilations) = rank(inputs[0])
module {
  func.func @main(%arg0: tensor<5xf32>, %arg1: tensor<f32>) -> tensor<3xf32> {
    %0 = "stablehlo.reduce_window"(%arg0, %arg1) ({
    ^bb0(%arg2: tensor<f32>, %arg3: tensor<f32>):
      %1 = "stablehlo.add"(%arg2, %arg3) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%1) : (tensor<f32>) -> ()
    }) {base_dilations = array<i64: 1>, padding = dense<[[0, 0]]> : tensor<1x2xi64>, window_dilations = array<i64>, window_dimensions = array<i64: 3>, window_strides = array<i64: 1>} : (tensor<5xf32>, tensor<f32>) -> tensor<3xf32>
    "func.return"(%0) : (tensor<3xf32>) -> ()
  }
}
// -----
// stablehlo.reduce_window C11: 0 < window_dilations
module {
  func.func @main(%arg0: tensor<5xf32>, %arg1: tensor<f32>) -> tensor<5xf32> {
    %0 = "stablehlo.reduce_window"(%arg0, %arg1) ({
    ^bb0(%arg2: tensor<f32>, %arg3: tensor<f32>):
      %1 = "stablehlo.add"(%arg2, %arg3) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%1) : (tensor<f32>) -> ()
    }) {base_dilations = array<i64: 1>, padding = dense<[[0, 0]]> : tensor<1x2xi64>, window_dilations = array<i64: 0>, window_dimensions = array<i64: 3>, window_strides = array<i64: 1>} : (tensor<5xf32>, tensor<f32>) -> tensor<5xf32>
    "func.return"(%0) : (tensor<5xf32>) -> ()
  }
}
// -----
// stablehlo.reduce_window C14: same(shape(results...))
module {
  func.func @main(%arg0: tensor<5xf32>, %arg1: tensor<5xf32>, %arg2: tensor<f32>, %arg3: tensor<f32>) -> (tensor<3xf32>, tensor<4xf32>) {
    %0:2 = "stablehlo.reduce_window"(%arg0, %arg1, %arg2, %arg3) ({
    ^bb0(%arg4: tensor<f32>, %arg5: tensor<f32>, %arg6: tensor<f32>, %arg7: tensor<f32>):
      %1 = "stablehlo.add"(%arg4, %arg6) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      %2 = "stablehlo.maximum"(%arg5, %arg7) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%1, %2) : (tensor<f32>, tensor<f32>) -> ()
    }) {padding = dense<[[0, 1]]> : tensor<1x2xi64>, window_dimensions = array<i64: 2>, window_strides = array<i64: 2>} : (tensor<5xf32>, tensor<5xf32>, tensor<f32>, tensor<f32>) -> (tensor<3xf32>, tensor<4xf32>)
    "func.return"(%0#0, %0#1) : (tensor<3xf32>, tensor<4xf32>) -> ()
  }
}
// -----
// stablehlo.reduce_window C12: shape(padding) = [N, 2], where N is the rank of the operand
module {
  func.func @main(%arg0: tensor<5xf32>, %arg1: tensor<f32>) -> tensor<4xf32> {
    %0 = "stablehlo.reduce_window"(%arg0, %arg1) ({
    ^bb0(%arg2: tensor<f32>, %arg3: tensor<f32>):
      %1 = "stablehlo.add"(%arg2, %arg3) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%1) : (tensor<f32>) -> ()
    }) {base_dilations = array<i64: 1>, padding = dense<[[0]]> : tensor<1x1xi64>, window_dilations = array<i64: 1>, window_dimensions = array<i64: 3>, window_strides = array<i64: 1>} : (tensor<5xf32>, tensor<f32>) -> tensor<4xf32>
    "func.return"(%0) : (tensor<4xf32>) -> ()
  }
}
// -----
// stablehlo.reduce_window C13: body combines pairs of types Ei to which inputs are promotable
module {
  func.func @main(%arg0: tensor<5xf32>, %arg1: tensor<f32>) -> tensor<3xf32> {
    %0 = "stablehlo.reduce_window"(%arg0, %arg1) ({
    ^bb0(%arg2: tensor<i1>, %arg3: tensor<i1>):
      %1 = "stablehlo.add"(%arg2, %arg3) : (tensor<i1>, tensor<i1>) -> tensor<i1>
      "stablehlo.return"(%1) : (tensor<i1>) -> ()
    }) {base_dilations = array<i64: 1>, padding = dense<[[0, 0]]> : tensor<1x2xi64>, window_dilations = array<i64: 1>, window_dimensions = array<i64: 3>, window_strides = array<i64: 1>} : (tensor<5xf32>, tensor<f32>) -> tensor<3xf32>
    "func.return"(%0) : (tensor<3xf32>) -> ()
  }
}
// -----
// stablehlo.reduce_window C15: shape(results[0]) = num_windows
module {
  func.func @main(%arg0: tensor<5xf32>, %arg1: tensor<f32>) -> tensor<3xf32> {
    %0 = "stablehlo.reduce_window"(%arg0, %arg1) ({
    ^bb0(%arg2: tensor<f32>, %arg3: tensor<f32>):
      %1 = "stablehlo.add"(%arg2, %arg3) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%1) : (tensor<f32>) -> ()
    }) {base_dilations = array<i64: 1>, padding = dense<[[0, 0]]> : tensor<1x2xi64>, window_dilations = array<i64: 1>, window_dimensions = array<i64: 4>, window_strides = array<i64: 1>} : (tensor<5xf32>, tensor<f32>) -> tensor<3xf32>
    "func.return"(%0) : (tensor<3xf32>) -> ()
  }
}
// -----
// stablehlo.reduce_window C16: element_type(results) = Ei, or that of inputs
module {
  func.func @main(%arg0: tensor<5xf32>, %arg1: tensor<f32>) -> tensor<3xf64> {
    %0 = "stablehlo.reduce_window"(%arg0, %arg1) ({
    ^bb0(%arg2: tensor<f32>, %arg3: tensor<f32>):
      %1 = "stablehlo.add"(%arg2, %arg3) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%1) : (tensor<f32>) -> ()
    }) {base_dilations = array<i64: 1>, padding = dense<[[0, 0]]> : tensor<1x2xi64>, window_dilations = array<i64: 1>, window_dimensions = array<i64: 3>, window_strides = array<i64: 1>} : (tensor<5xf32>, tensor<f32>) -> tensor<3xf64>
    "func.return"(%0) : (tensor<3xf64>) -> ()
  }
}
// -----
// stablehlo.select_and_scatter C1: element_type(operand) = element_type(source)
module {
  func.func @main(%arg0: tensor<5xf32>, %arg1: tensor<3xf64>, %arg2: tensor<f32>) -> tensor<5xf32> {
    %0 = "stablehlo.select_and_scatter"(%arg0, %arg1, %arg2) ({
    ^bb0(%arg3: tensor<f32>, %arg4: tensor<f32>):
      %1 = "stablehlo.compare"(%arg3, %arg4) {comparison_direction = #stablehlo<comparison_direction GE>} : (tensor<f32>, tensor<f32>) -> tensor<i1>
      "stablehlo.return"(%1) : (tensor<i1>) -> ()
    }, {
    ^bb0(%arg5: tensor<f32>, %arg6: tensor<f32>):
      %2 = "stablehlo.add"(%arg5, %arg6) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%2) : (tensor<f32>) -> ()
    }) {padding = dense<[[0, 0]]> : tensor<1x2xi64>, window_dimensions = array<i64: 3>, window_strides = array<i64: 1>} : (tensor<5xf32>, tensor<3xf64>, tensor<f32>) -> tensor<5xf32>
    "func.return"(%0) : (tensor<5xf32>) -> ()
  }
}
// -----
// stablehlo.select_and_scatter C3: element_type(operand) = element_type(init_value)
module {
  func.func @main(%arg0: tensor<5xf32>, %arg1: tensor<3xf32>, %arg2: tensor<f64>) -> tensor<5xf32> {
    %0 = "stablehlo.select_and_scatter"(%arg0, %arg1, %arg2) ({
    ^bb0(%arg3: tensor<f32>, %arg4: tensor<f32>):
      %1 = "stablehlo.compare"(%arg3, %arg4) {comparison_direction = #stablehlo<comparison_direction GE>} : (tensor<f32>, tensor<f32>) -> tensor<i1>
      "stablehlo.return"(%1) : (tensor<i1>) -> ()
    }, {
    ^bb0(%arg5: tensor<f32>, %arg6: tensor<f32>):
      %2 = "stablehlo.add"(%arg5, %arg6) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%2) : (tensor<f32>) -> ()
    }) {padding = dense<[[0, 0]]> : tensor<1x2xi64>, window_dimensions = array<i64: 3>, window_strides = array<i64: 1>} : (tensor<5xf32>, tensor<3xf32>, tensor<f64>) -> tensor<5xf32>
    "func.return"(%0) : (tensor<5xf32>) -> ()
  }
}
// -----
// stablehlo.select_and_scatter C4, with others: size(window_dimensions) = rank(operand)
module {
  func.func @main(%arg0: tensor<5xf32>, %arg1: tensor<3xf32>, %arg2: tensor<f32>) -> tensor<5xf32> {
    %0 = "stablehlo.select_and_scatter"(%arg0, %arg1, %arg2) ({
    ^bb0(%arg3: tensor<f32>, %arg4: tensor<f32>):
      %1 = "stablehlo.compare"(%arg3, %arg4) {comparison_direction = #stablehlo<comparison_direction GE>} : (tensor<f32>, tensor<f32>) -> tensor<i1>
      "stablehlo.return"(%1) : (tensor<i1>) -> ()
    }, {
    ^bb0(%arg5: tensor<f32>, %arg6: tensor<f32>):
      %2 = "stablehlo.add"(%arg5, %arg6) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%2) : (tensor<f32>) -> ()
    }) {padding = dense<[[0, 0]]> : tensor<1x2xi64>, window_dimensions = array<i64>, window_strides = array<i64: 1>} : (tensor<5xf32>, tensor<3xf32>, tensor<f32>) -> tensor<5xf32>
    "func.return"(%0) : (tensor<5xf32>) -> ()
  }
}
// -----
// stablehlo.select_and_scatter C5: 0 < window_dimensions
module {
  func.func @main(%arg0: tensor<5xf32>, %arg1: tensor<3xf32>, %arg2: tensor<f32>) -> tensor<5xf32> {
    %0 = "stablehlo.select_and_scatter"(%arg0, %arg1, %arg2) ({
    ^bb0(%arg3: tensor<f32>, %arg4: tensor<f32>):
      %1 = "stablehlo.compare"(%arg3, %arg4) {comparison_direction = #stablehlo<comparison_direction GE>} : (tensor<f32>, tensor<f32>) -> tensor<i1>
      "stablehlo.return"(%1) : (tensor<i1>) -> ()
    }, {
    ^bb0(%arg5: tensor<f32>, %arg6: tensor<f32>):
      %2 = "stablehlo.add"(%arg5, %arg6) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%2) : (tensor<f32>) -> ()
    }) {padding = dense<[[0, 0]]> : tensor<1x2xi64>, window_dimensions = array<i64: -1>, window_strides = array<i64: 1>} : (tensor<5xf32>, tensor<3xf32>, tensor<f32>) -> tensor<5xf32>
    "func.return"(%0) : (tensor<5xf32>) -> ()
  }
}
// -----
// stablehlo.select_and_scatter C6, with others: size(window_strides) = rank(operand)
module {
  func.func @main(%arg0: tensor<5xf32>, %arg1: tensor<3xf32>, %arg2: tensor<f32>) -> tensor<5xf32> {
    %0 = "stablehlo.select_and_scatter"(%arg0, %arg1, %arg2) ({
    ^bb0(%arg3: tensor<f32>, %arg4: tensor<f32>):
      %1 = "stablehlo.compare"(%arg3, %arg4) {comparison_direction = #stablehlo<comparison_direction GE>} : (tensor<f32>, tensor<f32>) -> tensor<i1>
      "stablehlo.return"(%1) : (tensor<i1>) -> ()
    }, {
    ^bb0(%arg5: tensor<f32>, %arg6: tensor<f32>):
      %2 = "stablehlo.add"(%arg5, %arg6) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%2) : (tensor<f32>) -> ()
    }) {padding = dense<[[0, 0]]> : tensor<1x2xi64>, window_dimensions = array<i64: 3>, window_strides = array<i64>} : (tensor<5xf32>, tensor<3xf32>, tensor<f32>) -> tensor<5xf32>
    "func.return"(%0) : (tensor<5xf32>) -> ()
  }
}
// -----
// stablehlo.select_and_scatter C7: 0 < window_strides
module {
  func.func @main(%arg0: tensor<5xf32>, %arg1: tensor<3xf32>, %arg2: tensor<f32>) -> tensor<5xf32> {
    %0 = "stablehlo.select_and_scatter"(%arg0, %arg1, %arg2) ({
    ^bb0(%arg3: tensor<f32>, %arg4: tensor<f32>):
      %1 = "stablehlo.compare"(%arg3, %arg4) {comparison_direction = #stablehlo<comparison_direction GE>} : (tensor<f32>, tensor<f32>) -> tensor<i1>
      "stablehlo.return"(%1) : (tensor<i1>) -> ()
    }, {
    ^bb0(%arg5: tensor<f32>, %arg6: tensor<f32>):
      %2 = "stablehlo.add"(%arg5, %arg6) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%2) : (tensor<f32>) -> ()
    }) {padding = dense<[[0, 0]]> : tensor<1x2xi64>, window_dimensions = array<i64: 3>, window_strides = array<i64: -1>} : (tensor<5xf32>, tensor<3xf32>, tensor<f32>) -> tensor<5xf32>
    "func.return"(%0) : (tensor<5xf32>) -> ()
  }
}
// -----
// stablehlo.select_and_scatter C8: shape(padding) = [N, 2], where N is the rank of the operand
module {
  func.func @main(%arg0: tensor<5xf32>, %arg1: tensor<3xf32>, %arg2: tensor<f32>) -> tensor<5xf32> {
    %0 = "stablehlo.select_and_scatter"(%arg0, %arg1, %arg2) ({
    ^bb0(%arg3: tensor<f32>, %arg4: tensor<f32>):
      %1 = "stablehlo.compare"(%arg3, %arg4) {comparison_direction = #stablehlo<comparison_direction GE>} : (tensor<f32>, tensor<f32>) -> tensor<i1>
      "stablehlo.return"(%1) : (tensor<i1>) -> ()
    }, {
    ^bb0(%arg5: tensor<f32>, %arg6: tensor<f32>):
      %2 = "stablehlo.add"(%arg5, %arg6) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%2) : (tensor<f32>) -> ()
    }) {padding = dense<[[0]]> : tensor<1x1xi64>, window_dimensions = array<i64: 3>, window_strides = array<i64: 1>} : (tensor<5xf32>, tensor<3xf32>, tensor<f32>) -> tensor<5xf32>
    "func.return"(%0) : (tensor<5xf32>) -> ()
  }
}
// -----
// stablehlo.select_and_scatter C2: shape(source) = num_windows
module {
  func.func @main(%arg0: tensor<5xf32>, %arg1: tensor<3xf32>, %arg2: tensor<f32>) -> tensor<5xf32> {
    %0 = "stablehlo.select_and_scatter"(%arg0, %arg1, %arg2) ({
    ^bb0(%arg3: tensor<f32>, %arg4: tensor<f32>):
      %1 = "stablehlo.compare"(%arg3, %arg4) {comparison_direction = #stablehlo<comparison_direction GE>} : (tensor<f32>, tensor<f32>) -> tensor<i1>
      "stablehlo.return"(%1) : (tensor<i1>) -> ()
    }, {
    ^bb0(%arg5: tensor<f32>, %arg6: tensor<f32>):
      %2 = "stablehlo.add"(%arg5, %arg6) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%2) : (tensor<f32>) -> ()
    }) {padding = dense<[[0, 0]]> : tensor<1x2xi64>, window_dimensions = array<i64: 4>, window_strides = array<i64: 1>} : (tensor<5xf32>, tensor<3xf32>, tensor<f32>) -> tensor<5xf32>
    "func.return"(%0) : (tensor<5xf32>) -> ()
  }
}
// -----
// stablehlo.select_and_scatter C9: select has type (tensor<E>, tensor<E>) -> tensor<i1>, where E = element_type(operand)
module {
  func.func @main(%arg0: tensor<5xf32>, %arg1: tensor<3xf32>, %arg2: tensor<f32>) -> tensor<5xf32> {
    %0 = "stablehlo.select_and_scatter"(%arg0, %arg1, %arg2) ({
    ^bb0(%arg3: tensor<f64>, %arg4: tensor<f64>):
      %1 = "stablehlo.compare"(%arg3, %arg4) {comparison_direction = #stablehlo<comparison_direction GE>} : (tensor<f64>, tensor<f64>) -> tensor<i1>
      "stablehlo.return"(%1) : (tensor<i1>) -> ()
    }, {
    ^bb0(%arg5: tensor<f32>, %arg6: tensor<f32>):
      %2 = "stablehlo.add"(%arg5, %arg6) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%2) : (tensor<f32>) -> ()
    }) {padding = dense<[[0, 0]]> : tensor<1x2xi64>, window_dimensions = array<i64: 3>, window_strides = array<i64: 1>} : (tensor<5xf32>, tensor<3xf32>, tensor<f32>) -> tensor<5xf32>
    "func.return"(%0) : (tensor<5xf32>) -> ()
  }
}
// -----
// stablehlo.select_and_scatter C10: scatter combines pairs of types Ei to which operand are promotable
module {
  func.func @main(%arg0: tensor<5xf32>, %arg1: tensor<3xf32>, %arg2: tensor<f32>) -> tensor<5xf32> {
    %0 = "stablehlo.select_and_scatter"(%arg0, %arg1, %arg2) ({
    ^bb0(%arg3: tensor<f32>, %arg4: tensor<f32>):
      %1 = "stablehlo.compare"(%arg3, %arg4) {comparison_direction = #stablehlo<comparison_direction GE>} : (tensor<f32>, tensor<f32>) -> tensor<i1>
      "stablehlo.return"(%1) : (tensor<i1>) -> ()
    }, {
    ^bb0(%arg5: tensor<i1>, %arg6: tensor<i1>):
      %2 = "stablehlo.add"(%arg5, %arg6) : (tensor<i1>, tensor<i1>) -> tensor<i1>
      "stablehlo.return"(%2) : (tensor<i1>) -> ()
    }) {padding = dense<[[0, 0]]> : tensor<1x2xi64>, window_dimensions = array<i64: 3>, window_strides = array<i64: 1>} : (tensor<5xf32>, tensor<3xf32>, tensor<f32>) -> tensor<5xf32>
    "func.return"(%0) : (tensor<5xf32>) -> ()
  }
}
// -----
// stablehlo.select_and_scatter C11: shape(operand) = shape(result)
module {
  func.func @main(%arg0: tensor<5xf32>, %arg1: tensor<3xf32>, %arg2: tensor<f32>) -> tensor<6xf32> {
    %0 = "stablehlo.select_and_scatter"(%arg0, %arg1, %arg2) ({
    ^bb0(%arg3: tensor<f32>, %arg4: tensor<f32>):
      %1 = "stablehlo.compare"(%arg3, %arg4) {comparison_direction = #stablehlo<comparison_direction GE>} : (tensor<f32>, tensor<f32>) -> tensor<i1>
      "stablehlo.return"(%1) : (tensor<i1>) -> ()
    }, {
    ^bb0(%arg5: tensor<f32>, %arg6: tensor<f32>):
      %2 = "stablehlo.add"(%arg5, %arg6) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%2) : (tensor<f32>) -> ()
    }) {padding = dense<[[0, 0]]> : tensor<1x2xi64>, window_dimensions = array<i64: 3>, window_strides = array<i64: 1>} : (tensor<5xf32>, tensor<3xf32>, tensor<f32>) -> tensor<6xf32>
    "func.return"(%0) : (tensor<6xf32>) -> ()
  }
}
// -----
// stablehlo.select_and_scatter C12: element_type(result) = Ei, or that of operand
module {
  func.func @main(%arg0: tensor<5xf32>, %arg1: tensor<3xf32>, %arg2: tensor<f32>) -> tensor<5xf64> {
    %0 = "stablehlo.select_and_scatter"(%arg0, %arg1, %arg2) ({
    ^bb0(%arg3: tensor<f32>, %arg4: tensor<f32>):
      %1 = "stablehlo.compare"(%arg3, %arg4) {comparison_direction = #stablehlo<comparison_direction GE>} : (tensor<f32>, tensor<f32>) -> tensor<i1>
      "stablehlo.return"(%1) : (tensor<i1>) -> ()
    }, {
    ^bb0(%arg5: tensor<f32>, %arg6: tensor<f32>):
      %2 = "stablehlo.add"(%arg5, %arg6) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%2) : (tensor<f32>) -> ()
    }) {padding = dense<[[0, 0]]> : tensor<1x2xi64>, window_dimensions = array<i64: 3>, window_strides = array<i64: 1>} : (tensor<5xf32>, tensor<3xf32>, tensor<f32>) -> tensor<5xf64>
    "func.return"(%0) : (tensor<5xf64>) -> ()
  }
}
// -----
// stablehlo.sort C1, with others: 0 < size(inputs)
module {
  func.func @main() -> (tensor<7xf32>, tensor<7xi32>) {
    %0:2 = "stablehlo.sort"() ({
    ^bb0(%arg0: tensor<f32>, %arg1: tensor<f32>, %arg2: tensor<i32>, %arg3: tensor<i32>):
      %1 = "stablehlo.compare"(%arg0, %arg1) {comparison_direction = #stablehlo<comparison_direction LT>} : (tensor<f32>, tensor<f32>) -> tensor<i1>
      "stablehlo.return"(%1) : (tensor<i1>) -> ()
    }) {dimension = 0 : i64, is_stable = true} : () -> (tensor<7xf32>, tensor<7xi32>)
    "func.return"(%0#0, %0#1) : (tensor<7xf32>, tensor<7xi32>) -> ()
  }
}
// -----
// stablehlo.sort C2: size(results) = size(inputs) and element_type(results...) = element_type(inputs...)
module {
  func.func @main(%arg0: tensor<7xf32>, %arg1: tensor<7xi32>) -> (tensor<7xf64>, tensor<7xi32>) {
    %0:2 = "stablehlo.sort"(%arg0, %arg1) ({
    ^bb0(%arg2: tensor<f32>, %arg3: tensor<f32>, %arg4: tensor<i32>, %arg5: tensor<i32>):
      %1 = "stablehlo.compare"(%arg2, %arg3) {comparison_direction = #stablehlo<comparison_direction LT>} : (tensor<f32>, tensor<f32>) -> tensor<i1>
      "stablehlo.return"(%1) : (tensor<i1>) -> ()
    }) {dimension = 0 : i64, is_stable = true} : (tensor<7xf32>, tensor<7xi32>) -> (tensor<7xf64>, tensor<7xi32>)
    "func.return"(%0#0, %0#1) : (tensor<7xf64>, tensor<7xi32>) -> ()
  }
}
// -----
// stablehlo.sort C3: shape(inputs) = shape(results)
module {
  func.func @main(%arg0: tensor<8xf32>, %arg1: tensor<7xi32>) -> (tensor<7xf32>, tensor<7xi32>) {
    %0:2 = "stablehlo.sort"(%arg0, %arg1) ({
    ^bb0(%arg2: tensor<f32>, %arg3: tensor<f32>, %arg4: tensor<i32>, %arg5: tensor<i32>):
      %1 = "stablehlo.compare"(%arg2, %arg3) {comparison_direction = #stablehlo<comparison_direction LT>} : (tensor<f32>, tensor<f32>) -> tensor<i1>
      "stablehlo.return"(%1) : (tensor<i1>) -> ()
    }) {dimension = 0 : i64, is_stable = true} : (tensor<8xf32>, tensor<7xi32>) -> (tensor<7xf32>, tensor<7xi32>)
    "func.return"(%0#0, %0#1) : (tensor<7xf32>, tensor<7xi32>) -> ()
  }
}
// -----
// stablehlo.sort C4: -R <= dimension < R, where R = rank(inputs[0])
module {
  func.func @main(%arg0: tensor<7xf32>, %arg1: tensor<7xi32>) -> (tensor<7xf32>, tensor<7xi32>) {
    %0:2 = "stablehlo.sort"(%arg0, %arg1) ({
    ^bb0(%arg2: tensor<f32>, %arg3: tensor<f32>, %arg4: tensor<i32>, %arg5: tensor<i32>):
      %1 = "stablehlo.compare"(%arg2, %arg3) {comparison_direction = #stablehlo<comparison_direction LT>} : (tensor<f32>, tensor<f32>) -> tensor<i1>
      "stablehlo.return"(%1) : (tensor<i1>) -> ()
    }) {dimension = 1 : i64, is_stable = true} : (tensor<7xf32>, tensor<7xi32>) -> (tensor<7xf32>, tensor<7xi32>)
    "func.return"(%0#0, %0#1) : (tensor<7xf32>, tensor<7xi32>) -> ()
  }
}
// -----
// stablehlo.sort C5: comparator has type (tensor<E1>, tensor<E1>, ...) -> tensor<i1>, Ei = element_type(inputs[i])
module {
  func.func @main(%arg0: tensor<7xf64>, %arg1: tensor<7xi32>) -> (tensor<7xf64>, tensor<7xi32>) {
    %0:2 = "stablehlo.sort"(%arg0, %arg1) ({
    ^bb0(%arg2: tensor<f32>, %arg3: tensor<f32>, %arg4: tensor<i32>, %arg5: tensor<i32>):
      %1 = "stablehlo.compare"(%arg2, %arg3) {comparison_direction = #stablehlo<comparison_direction LT>} : (tensor<f32>, tensor<f32>) -> tensor<i1>
      "stablehlo.return"(%1) : (tensor<i1>) -> ()
    }) {dimension = 0 : i64, is_stable = true} : (tensor<7xf64>, tensor<7xi32>) -> (tensor<7xf64>, tensor<7xi32>)
    "func.return"(%0#0, %0#1) : (tensor<7xf64>, tensor<7xi32>) -> ()
  }
}
// -----
// stablehlo.dot_general C1, with others: size(lhs_batching_dimensions) = size(rhs_batching_dimensions)
module {
  func.func @main(%arg0: tensor<3x5xf32>, %arg1: tensor<5x4xf32>) -> tensor<3x4xf32> {
    %0 = "stablehlo.dot_general"(%arg0, %arg1) {dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [0], rhs_batching_dimensions = [], lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>} : (tensor<3x5xf32>, tensor<5x4xf32>) -> tensor<3x4xf32>
    "func.return"(%0) : (tensor<3x4xf32>) -> ()
  }
}
// -----
// stablehlo.dot_general C2: size(lhs_contracting_dimensions) = size(rhs_contracting_dimensions)
module {
  func.func @main(%arg0: tensor<3x5xf32>, %arg1: tensor<5x4xf32>) -> tensor<3x5x4xf32> {
    %0 = "stablehlo.dot_general"(%arg0, %arg1) {dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [], rhs_batching_dimensions = [], lhs_contracting_dimensions = [], rhs_contracting_dimensions = [0]>} : (tensor<3x5xf32>, tensor<5x4xf32>) -> tensor<3x5x4xf32>
    "func.return"(%0) : (tensor<3x5x4xf32>) -> ()
  }
}
// -----
// stablehlo.dot_general C3: is_unique(concatenate(lhs_batching_dimensions, lhs_contracting_dimensions))
module {
  func.func @main(%arg0: tensor<2x3x1x2x1x2xf32>, %arg1: tensor<2x1x3x2xf32>) -> tensor<2x1x2x1x2x1xf32> {
    %0 = "stablehlo.dot_general"(%arg0, %arg1) {dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [0], rhs_batching_dimensions = [0], lhs_contracting_dimensions = [1, 0], rhs_contracting_dimensions = [2, 3]>} : (tensor<2x3x1x2x1x2xf32>, tensor<2x1x3x2xf32>) -> tensor<2x1x2x1x2x1xf32>
    "func.return"(%0) : (tensor<2x1x2x1x2x1xf32>) -> ()
  }
}
// -----
// stablehlo.dot_general C4: is_unique(concatenate(rhs_batching_dimensions, rhs_contracting_dimensions))
module {
  func.func @main(%arg0: tensor<2x3x1x2x1x2xf32>, %arg1: tensor<2x1x3x2xf32>) -> tensor<2x1x1x2x1x2xf32> {
    %0 = "stablehlo.dot_general"(%arg0, %arg1) {dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [0], rhs_batching_dimensions = [0], lhs_contracting_dimensions = [1, 3], rhs_contracting_dimensions = [2, 0]>} : (tensor<2x3x1x2x1x2xf32>, tensor<2x1x3x2xf32>) -> tensor<2x1x1x2x1x2xf32>
    "func.return"(%0) : (tensor<2x1x1x2x1x2xf32>) -> ()
  }
}
// -----
// stablehlo.dot_general C5: 0 <= lhs_batching_dimensions < rank(lhs)
module {
  func.func @main(%arg0: tensor<2x3x5xf32>, %arg1: tensor<2x5x4xf32>) -> tensor<5x2x3x4xf32> {
    %0 = "stablehlo.dot_general"(%arg0, %arg1) {dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [-1], rhs_batching_dimensions = [0], lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [1]>} : (tensor<2x3x5xf32>, tensor<2x5x4xf32>) -> tensor<5x2x3x4xf32>
    "func.return"(%0) : (tensor<5x2x3x4xf32>) -> ()
  }
}
// -----
// stablehlo.dot_general C6: 0 <= lhs_contracting_dimensions < rank(lhs)
module {
  func.func @main(%arg0: tensor<3x5xf32>, %arg1: tensor<5x4xf32>) -> tensor<3x5x4xf32> {
    %0 = "stablehlo.dot_general"(%arg0, %arg1) {dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [], rhs_batching_dimensions = [], lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [0]>} : (tensor<3x5xf32>, tensor<5x4xf32>) -> tensor<3x5x4xf32>
    "func.return"(%0) : (tensor<3x5x4xf32>) -> ()
  }
}
// -----
// stablehlo.dot_general C7: 0 <= rhs_batching_dimensions < rank(rhs)
module {
  func.func @main(%arg0: tensor<2x3x5xf32>, %arg1: tensor<2x5x4xf32>) -> tensor<4x3x2x4xf32> {
    %0 = "stablehlo.dot_general"(%arg0, %arg1) {dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [0], rhs_batching_dimensions = [-1], lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [1]>} : (tensor<2x3x5xf32>, tensor<2x5x4xf32>) -> tensor<4x3x2x4xf32>
    "func.return"(%0) : (tensor<4x3x2x4xf32>) -> ()
  }
}
// -----
// stablehlo.dot_general C8: 0 <= rhs_contracting_dimensions < rank(rhs)
module {
  func.func @main(%arg0: tensor<3x5xf32>, %arg1: tensor<5x4xf32>) -> tensor<3x5x4xf32> {
    %0 = "stablehlo.dot_general"(%arg0, %arg1) {dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [], rhs_batching_dimensions = [], lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [-1]>} : (tensor<3x5xf32>, tensor<5x4xf32>) -> tensor<3x5x4xf32>
    "func.return"(%0) : (tensor<3x5x4xf32>) -> ()
  }
}
// -----
// stablehlo.dot_general C9: dim(lhs, lhs_batching_dimensions...) = dim(rhs, rhs_batching_dimensions...)
module {
  func.func @main(%arg0: tensor<2x3x5xf32>, %arg1: tensor<2x5x4xf32>) -> tensor<3x2x4xf32> {
    %0 = "stablehlo.dot_general"(%arg0, %arg1) {dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [1], rhs_batching_dimensions = [0], lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [1]>} : (tensor<2x3x5xf32>, tensor<2x5x4xf32>) -> tensor<3x2x4xf32>
    "func.return"(%0) : (tensor<3x2x4xf32>) -> ()
  }
}
// -----
// stablehlo.dot_general C10: dim(lhs, lhs_contracting_dimensions...) = dim(rhs, rhs_contracting_dimensions...)
module {
  func.func @main(%arg0: tensor<3x5xf32>, %arg1: tensor<5x4xf32>) -> tensor<5x4xf32> {
    %0 = "stablehlo.dot_general"(%arg0, %arg1) {dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [], rhs_batching_dimensions = [], lhs_contracting_dimensions = [0], rhs_contracting_dimensions = [0]>} : (tensor<3x5xf32>, tensor<5x4xf32>) -> tensor<5x4xf32>
    "func.return"(%0) : (tensor<5x4xf32>) -> ()
  }
}
// -----
// stablehlo.dot_general C11: size(precision_config) = 2; exporters also leave it empty
module {
  func.func @main(%arg0: tensor<3x5xf32>, %arg1: tensor<5x4xf32>) -> tensor<3x4xf32> {
    %0 = "stablehlo.dot_general"(%arg0, %arg1) {dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [], rhs_batching_dimensions = [], lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]} : (tensor<3x5xf32>, tensor<5x4xf32>) -> tensor<3x4xf32>
    "func.return"(%0) : (tensor<3x4xf32>) -> ()
  }
}
// -----
// stablehlo.dot_general C12: shape(result) = the shape of the product
module {
  func.func @main(%arg0: tensor<4x5xf32>, %arg1: tensor<5x4xf32>) -> tensor<3x4xf32> {
    %0 = "stablehlo.dot_general"(%arg0, %arg1) {dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [], rhs_batching_dimensions = [], lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>} : (tensor<4x5xf32>, tensor<5x4xf32>) -> tensor<3x4xf32>
    "func.return"(%0) : (tensor<3x4xf32>) -> ()
  }
}
// -----
// stablehlo.dot_general C14: is_quantized(lhs) = is_quantized(result) and is_quantized(rhs), where anything is quantized
module {
  func.func @main(%arg0: tensor<3x5x!quant.uniform<i8:f32, 0.5:-3>>, %arg1: tensor<5x4xf32>) -> tensor<3x4xf32> {
    %0 = "stablehlo.dot_general"(%arg0, %arg1) {dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [], rhs_batching_dimensions = [], lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>} : (tensor<3x5x!quant.uniform<i8:f32, 0.5:-3>>, tensor<5x4xf32>) -> tensor<3x4xf32>
    "func.return"(%0) : (tensor<3x4xf32>) -> ()
  }
}
// -----
// stablehlo.dot_general C15: zero_points(rhs) = 0
module {
  func.func @main(%arg0: tensor<3x5xf32>, %arg1: tensor<5x4x!quant.uniform<i8:f32, 0.5:-3>>) -> tensor<3x4xf32> {
    %0 = "stablehlo.dot_general"(%arg0, %arg1) {dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [], rhs_batching_dimensions = [], lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>} : (tensor<3x5xf32>, tensor<5x4x!quant.uniform<i8:f32, 0.5:-3>>) -> tensor<3x4xf32>
    "func.return"(%0) : (tensor<3x4xf32>) -> ()
  }
}
// -----
// stablehlo.dot_general C16: quantization_dimension(rhs) not in rhs_contracting_dimensions
module {
  func.func @main(%arg0: tensor<3x5xf32>, %arg1: tensor<5x4x!quant.uniform<i8:f32:0, {0.5:0, 0.75:0, 1.0:0, 1.25:0, 1.5:0}>>) -> tensor<3x4xf32> {
    %0 = "stablehlo.dot_general"(%arg0, %arg1) {dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [], rhs_batching_dimensions = [], lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>} : (tensor<3x5xf32>, tensor<5x4x!quant.uniform<i8:f32:0, {0.5:0, 0.75:0, 1.0:0, 1.25:0, 1.5:0}>>) -> tensor<3x4xf32>
    "func.return"(%0) : (tensor<3x4xf32>) -> ()
  }
}
// -----
// stablehlo.dot_general C17: storage_type(lhs) = storage_type(rhs), where lhs is quantized
module {
  func.func @main(%arg0: tensor<3x5x!quant.uniform<i16:f32, 0.5:0>>, %arg1: tensor<5x4x!quant.uniform<i8:f32, 0.5:0>>) -> tensor<3x4x!quant.uniform<i8:f32, 0.5:-3>> {
    %0 = "stablehlo.dot_general"(%arg0, %arg1) {dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [], rhs_batching_dimensions = [], lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>} : (tensor<3x5x!quant.uniform<i16:f32, 0.5:0>>, tensor<5x4x!quant.uniform<i8:f32, 0.5:0>>) -> tensor<3x4x!quant.uniform<i8:f32, 0.5:-3>>
    "func.return"(%0) : (tensor<3x4x!quant.uniform<i8:f32, 0.5:-3>>) -> ()
  }
}
// -----
// stablehlo.dot_general C18: expressed_type(lhs) = expressed_type(rhs) = expressed_type(result), where lhs is quantized
module {
  func.func @main(%arg0: tensor<3x5x!quant.uniform<i8:f64, 0.5:0>>, %arg1: tensor<5x4x!quant.uniform<i8:f32, 0.5:0>>) -> tensor<3x4x!quant.uniform<i8:f32, 0.5:-3>> {
    %0 = "stablehlo.dot_general"(%arg0, %arg1) {dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [], rhs_batching_dimensions = [], lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>} : (tensor<3x5x!quant.uniform<i8:f64, 0.5:0>>, tensor<5x4x!quant.uniform<i8:f32, 0.5:0>>) -> tensor<3x4x!quant.uniform<i8:f32, 0.5:-3>>
    "func.return"(%0) : (tensor<3x4x!quant.uniform<i8:f32, 0.5:-3>>) -> ()
  }
}
// -----
// stablehlo.dot_general C19: is_per_tensor_quantized(rhs) implies is_per_tensor_quantized(result), where lhs is quantized
module {
  func.func @main(%arg0: tensor<3x5x!quant.uniform<i8:f32, 0.5:-3>>, %arg1: tensor<5x4x!quant.uniform<i8:f32, 0.5:0>>) -> tensor<3x4x!quant.uniform<i8:f32:0, {0.5:-3, 0.75:-3, 1.0:-3}>> {
    %0 = "stablehlo.dot_general"(%arg0, %arg1) {dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [], rhs_batching_dimensions = [], lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>} : (tensor<3x5x!quant.uniform<i8:f32, 0.5:-3>>, tensor<5x4x!quant.uniform<i8:f32, 0.5:0>>) -> tensor<3x4x!quant.uniform<i8:f32:0, {0.5:-3, 0.75:-3, 1.0:-3}>>
    "func.return"(%0) : (tensor<3x4x!quant.uniform<i8:f32:0, {0.5:-3, 0.75:-3, 1.0:-3}>>) -> ()
  }
}
// -----
// stablehlo.dot_general C20: element_type(lhs) = expressed_type(rhs) = element_type(result), where lhs is not quantized
module {
  func.func @main(%arg0: tensor<3x5xf32>, %arg1: tensor<5x4xf32>) -> tensor<3x4x!quant.uniform<i8:f32, 0.5:-3>> {
    %0 = "stablehlo.dot_general"(%arg0, %arg1) {dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [], rhs_batching_dimensions = [], lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>} : (tensor<3x5xf32>, tensor<5x4xf32>) -> tensor<3x4x!quant.uniform<i8:f32, 0.5:-3>>
    "func.return"(%0) : (tensor<3x4x!quant.uniform<i8:f32, 0.5:-3>>) -> ()
  }
}
// -----
// stablehlo.dot_general C21: precision_config... = DEFAULT, where there is an algorithm
module {
  func.func @main(%arg0: tensor<3x5xf32>, %arg1: tensor<5x4xf32>) -> tensor<3x4xf32> {
    %0 = "stablehlo.dot_general"(%arg0, %arg1) {algorithm = #stablehlo.dot_algorithm<lhs_precision_type = f32, rhs_precision_type = f32, accumulation_type = f32, lhs_component_count = 1, rhs_component_count = 1, num_primitive_operations = 1, allow_imprecise_accumulation = false>, dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [], rhs_batching_dimensions = [], lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>, precision_config = [#stablehlo<precision HIGH>, #stablehlo<precision DEFAULT>]} : (tensor<3x5xf32>, tensor<5x4xf32>) -> tensor<3x4xf32>
    "func.return"(%0) : (tensor<3x4xf32>) -> ()
  }
}
// -----
// stablehlo.dot_general C22: 0 < lhs_component_count
module {
  func.func @main(%arg0: tensor<3x5xf32>, %arg1: tensor<5x4xf32>) -> tensor<3x4xf32> {
    %0 = "stablehlo.dot_general"(%arg0, %arg1) {algorithm = #stablehlo.dot_algorithm<lhs_precision_type = f32, rhs_precision_type = f32, accumulation_type = f32, lhs_component_count = 0, rhs_component_count = 1, num_primitive_operations = 1, allow_imprecise_accumulation = false>, dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [], rhs_batching_dimensions = [], lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>} : (tensor<3x5xf32>, tensor<5x4xf32>) -> tensor<3x4xf32>
    "func.return"(%0) : (tensor<3x4xf32>) -> ()
  }
}
// -----
// stablehlo.dot_general C23: 0 < rhs_component_count
module {
  func.func @main(%arg0: tensor<3x5xf32>, %arg1: tensor<5x4xf32>) -> tensor<3x4xf32> {
    %0 = "stablehlo.dot_general"(%arg0, %arg1) {algorithm = #stablehlo.dot_algorithm<lhs_precision_type = f32, rhs_precision_type = f32, accumulation_type = f32, lhs_component_count = 1, rhs_component_count = 0, num_primitive_operations = 1, allow_imprecise_accumulation = false>, dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [], rhs_batching_dimensions = [], lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>} : (tensor<3x5xf32>, tensor<5x4xf32>) -> tensor<3x4xf32>
    "func.return"(%0) : (tensor<3x4xf32>) -> ()
  }
}
// -----
// stablehlo.dot_general C24: 0 < num_primitive_operations
module {
  func.func @main(%arg0: tensor<3x5xf32>, %arg1: tensor<5x4xf32>) -> tensor<3x4xf32> {
    %0 = "stablehlo.dot_general"(%arg0, %arg1) {algorithm = #stablehlo.dot_algorithm<lhs_precision_type = f32, rhs_precision_type = f32, accumulation_type = f32, lhs_component_count = 1, rhs_component_count = 1, num_primitive_operations = 0, allow_imprecise_accumulation = false>, dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [], rhs_batching_dimensions = [], lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>} : (tensor<3x5xf32>, tensor<5x4xf32>) -> tensor<3x4xf32>
    "func.return"(%0) : (tensor<3x4xf32>) -> ()
  }
}
// -----
// stablehlo.convolution C1: N = rank(lhs) = rank(rhs)
module {
  func.func @main(%arg0: tensor<2x2x5x4xf32>, %arg1: tensor<2x2x3x2x1xf32>) -> tensor<2x2x3x3xf32> {
    %0 = "stablehlo.convolution"(%arg0, %arg1) {batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<raw input_batch_dimension = 0, input_feature_dimension = 1, input_spatial_dimensions = [2, 3], kernel_input_feature_dimension = 1, kernel_output_feature_dimension = 0, kernel_spatial_dimensions = [2, 3], output_batch_dimension = 0, output_feature_dimension = 1, output_spatial_dimensions = [2, 3]>, feature_group_count = 1 : i64, lhs_dilation = array<i64: 1, 1>, padding = dense<[[0, 0], [0, 0]]> : tensor<2x2xi64>, precision_config = [#stablehlo<precision HIGHEST>, #stablehlo<precision HIGHEST>], rhs_dilation = array<i64: 1, 1>, window_reversal = array<i1: false, false>, window_strides = array<i64: 1, 1>} : (tensor<2x2x5x4xf32>, tensor<2x2x3x2x1xf32>) -> tensor<2x2x3x3xf32>
    "func.return"(%0) : (tensor<2x2x3x3xf32>) -> ()
  }
}
// -----
// stablehlo.convolution C2, with others: size(window_strides) = N - 2
module {
  func.func @main(%arg0: tensor<2x2x5x4xf32>, %arg1: tensor<2x2x3x2xf32>) -> tensor<2x2x3x3xf32> {
    %0 = "stablehlo.convolution"(%arg0, %arg1) {batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<raw input_batch_dimension = 0, input_feature_dimension = 1, input_spatial_dimensions = [2, 3], kernel_input_feature_dimension = 1, kernel_output_feature_dimension = 0, kernel_spatial_dimensions = [2, 3], output_batch_dimension = 0, output_feature_dimension = 1, output_spatial_dimensions = [2, 3]>, feature_group_count = 1 : i64, lhs_dilation = array<i64: 1, 1>, padding = dense<[[0, 0], [0, 0]]> : tensor<2x2xi64>, precision_config = [#stablehlo<precision HIGHEST>, #stablehlo<precision HIGHEST>], rhs_dilation = array<i64: 1, 1>, window_reversal = array<i1: false, false>, window_strides = array<i64: 1>} : (tensor<2x2x5x4xf32>, tensor<2x2x3x2xf32>) -> tensor<2x2x3x3xf32>
    "func.return"(%0) : (tensor<2x2x3x3xf32>) -> ()
  }
}
// -----
// stablehlo.convolution C3: 0 < window_strides
module {
  func.func @main(%arg0: tensor<2x2x5x4xf32>, %arg1: tensor<2x2x3x2xf32>) -> tensor<2x2x3x3xf32> {
    %0 = "stablehlo.convolution"(%arg0, %arg1) {batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<raw input_batch_dimension = 0, input_feature_dimension = 1, input_spatial_dimensions = [2, 3], kernel_input_feature_dimension = 1, kernel_output_feature_dimension = 0, kernel_spatial_dimensions = [2, 3], output_batch_dimension = 0, output_feature_dimension = 1, output_spatial_dimensions = [2, 3]>, feature_group_count = 1 : i64, lhs_dilation = array<i64: 1, 1>, padding = dense<[[0, 0], [0, 0]]> : tensor<2x2xi64>, precision_config = [#stablehlo<precision HIGHEST>, #stablehlo<precision HIGHEST>], rhs_dilation = array<i64: 1, 1>, window_reversal = array<i1: false, false>, window_strides = array<i64: -1, 1>} : (tensor<2x2x5x4xf32>, tensor<2x2x3x2xf32>) -> tensor<2x2x3x3xf32>
    "func.return"(%0) : (tensor<2x2x3x3xf32>) -> ()
  }
}
// -----
// stablehlo.convolution C4, with others: shape(padding) = [N - 2, 2]
module {
  func.func @main(%arg0: tensor<2x2x5x4xf32>, %arg1: tensor<2x2x3x2xf32>) -> tensor<2x2x3x3xf32> {
    %0 = "stablehlo.convolution"(%arg0, %arg1) {batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<raw input_batch_dimension = 0, input_feature_dimension = 1, input_spatial_dimensions = [2, 3], kernel_input_feature_dimension = 1, kernel_output_feature_dimension = 0, kernel_spatial_dimensions = [2, 3], output_batch_dimension = 0, output_feature_dimension = 1, output_spatial_dimensions = [2, 3]>, feature_group_count = 1 : i64, lhs_dilation = array<i64: 1, 1>, padding = dense<[[0, 0]]> : tensor<1x2xi64>, precision_config = [#stablehlo<precision HIGHEST>, #stablehlo<precision HIGHEST>], rhs_dilation = array<i64: 1, 1>, window_reversal = array<i1: false, false>, window_strides = array<i64: 1, 1>} : (tensor<2x2x5x4xf32>, tensor<2x2x3x2xf32>) -> tensor<2x2x3x3xf32>
    "func.return"(%0) : (tensor<2x2x3x3xf32>) -> ()
  }
}
// -----
// stablehlo.convolution C5, with others: size(lhs_dilation) = N - 2
module {
  func.func @main(%arg0: tensor<2x2x5x4xf32>, %arg1: tensor<2x2x3x2xf32>) -> tensor<2x2x3x3xf32> {
    %0 = "stablehlo.convolution"(%arg0, %arg1) {batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<raw input_batch_dimension = 0, input_feature_dimension = 1, input_spatial_dimensions = [2, 3], kernel_input_feature_dimension = 1, kernel_output_feature_dimension = 0, kernel_spatial_dimensions = [2, 3], output_batch_dimension = 0, output_feature_dimension = 1, output_spatial_dimensions = [2, 3]>, feature_group_count = 1 : i64, lhs_dilation = array<i64: 1>, padding = dense<[[0, 0], [0, 0]]> : tensor<2x2xi64>, precision_config = [#stablehlo<precision HIGHEST>, #stablehlo<precision HIGHEST>], rhs_dilation = array<i64: 1, 1>, window_reversal = array<i1: false, false>, window_strides = array<i64: 1, 1>} : (tensor<2x2x5x4xf32>, tensor<2x2x3x2xf32>) -> tensor<2x2x3x3xf32>
    "func.return"(%0) : (tensor<2x2x3x3xf32>) -> ()
  }
}
// -----
// stablehlo.convolution C6: 0 < lhs_dilation
module {
  func.func @main(%arg0: tensor<2x2x5x4xf32>, %arg1: tensor<2x2x3x2xf32>) -> tensor<2x2x0x3xf32> {
    %0 = "stablehlo.convolution"(%arg0, %arg1) {batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<raw input_batch_dimension = 0, input_feature_dimension = 1, input_spatial_dimensions = [2, 3], kernel_input_feature_dimension = 1, kernel_output_feature_dimension = 0, kernel_spatial_dimensions = [2, 3], output_batch_dimension = 0, output_feature_dimension = 1, output_spatial_dimensions = [2, 3]>, feature_group_count = 1 : i64, lhs_dilation = array<i64: 0, 1>, padding = dense<[[0, 0], [0, 0]]> : tensor<2x2xi64>, precision_config = [#stablehlo<precision HIGHEST>, #stablehlo<precision HIGHEST>], rhs_dilation = array<i64: 1, 1>, window_reversal = array<i1: false, false>, window_strides = array<i64: 1, 1>} : (tensor<2x2x5x4xf32>, tensor<2x2x3x2xf32>) -> tensor<2x2x0x3xf32>
    "func.return"(%0) : (tensor<2x2x0x3xf32>) -> ()
  }
}
// -----
// stablehlo.convolution C7, with others: size(rhs_dilation) = N - 2
module {
  func.func @main(%arg0: tensor<2x2x5x4xf32>, %arg1: tensor<2x2x3x2xf32>) -> tensor<2x2x3x3xf32> {
    %0 = "stablehlo.convolution"(%arg0, %arg1) {batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<raw input_batch_dimension = 0, input_feature_dimension = 1, input_spatial_dimensions = [2, 3], kernel_input_feature_dimension = 1, kernel_output_feature_dimension = 0, kernel_spatial_dimensions = [2, 3], output_batch_dimension = 0, output_feature_dimension = 1, output_spatial_dimensions = [2, 3]>, feature_group_count = 1 : i64, lhs_dilation = array<i64: 1, 1>, padding = dense<[[0, 0], [0, 0]]> : tensor<2x2xi64>, precision_config = [#stablehlo<precision HIGHEST>, #stablehlo<precision HIGHEST>], rhs_dilation = array<i64: 1>, window_reversal = array<i1: false, false>, window_strides = array<i64: 1, 1>} : (tensor<2x2x5x4xf32>, tensor<2x2x3x2xf32>) -> tensor<2x2x3x3xf32>
    "func.return"(%0) : (tensor<2x2x3x3xf32>) -> ()
  }
}
// -----
// stablehlo.convolution C8: 0 < rhs_dilation
module {
  func.func @main(%arg0: tensor<2x2x5x4xf32>, %arg1: tensor<2x2x3x2xf32>) -> tensor<2x2x5x3xf32> {
    %0 = "stablehlo.convolution"(%arg0, %arg1) {batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<raw input_batch_dimension = 0, input_feature_dimension = 1, input_spatial_dimensions = [2, 3], kernel_input_feature_dimension = 1, kernel_output_feature_dimension = 0, kernel_spatial_dimensions = [2, 3], output_batch_dimension = 0, output_feature_dimension = 1, output_spatial_dimensions = [2, 3]>, feature_group_count = 1 : i64, lhs_dilation = array<i64: 1, 1>, padding = dense<[[0, 0], [0, 0]]> : tensor<2x2xi64>, precision_config = [#stablehlo<precision HIGHEST>, #stablehlo<precision HIGHEST>], rhs_dilation = array<i64: 0, 1>, window_reversal = array<i1: false, false>, window_strides = array<i64: 1, 1>} : (tensor<2x2x5x4xf32>, tensor<2x2x3x2xf32>) -> tensor<2x2x5x3xf32>
    "func.return"(%0) : (tensor<2x2x5x3xf32>) -> ()
  }
}
// -----
// stablehlo.convolution C9: size(window_reversal) = N - 2
module {
  func.func @main(%arg0: tensor<2x2x5x4xf32>, %arg1: tensor<2x2x3x2xf32>) -> tensor<2x2x3x3xf32> {
    %0 = "stablehlo.convolution"(%arg0, %arg1) {batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<raw input_batch_dimension = 0, input_feature_dimension = 1, input_spatial_dimensions = [2, 3], kernel_input_feature_dimension = 1, kernel_output_feature_dimension = 0, kernel_spatial_dimensions = [2, 3], output_batch_dimension = 0, output_feature_dimension = 1, output_spatial_dimensions = [2, 3]>, feature_group_count = 1 : i64, lhs_dilation = array<i64: 1, 1>, padding = dense<[[0, 0], [0, 0]]> : tensor<2x2xi64>, precision_config = [#stablehlo<precision HIGHEST>, #stablehlo<precision HIGHEST>], rhs_dilation = array<i64: 1, 1>, window_reversal = array<i1: false>, window_strides = array<i64: 1, 1>} : (tensor<2x2x5x4xf32>, tensor<2x2x3x2xf32>) -> tensor<2x2x3x3xf32>
    "func.return"(%0) : (tensor<2x2x3x3xf32>) -> ()
  }
}
// -----
// stablehlo.convolution C10: dim(lhs, input_batch_dimension) % batch_group_count = 0
module {
  func.func @main(%arg0: tensor<5x2x4xf32>, %arg1: tensor<4x2x2xf32>) -> tensor<2x4x3xf32> {
    %0 = "stablehlo.convolution"(%arg0, %arg1) {batch_group_count = 2 : i64, dimension_numbers = #stablehlo.conv<raw input_batch_dimension = 0, input_feature_dimension = 1, input_spatial_dimensions = [2], kernel_input_feature_dimension = 1, kernel_output_feature_dimension = 0, kernel_spatial_dimensions = [2], output_batch_dimension = 0, output_feature_dimension = 1, output_spatial_dimensions = [2]>, feature_group_count = 1 : i64, lhs_dilation = array<i64: 1>, padding = dense<[[0, 0]]> : tensor<1x2xi64>, precision_config = [#stablehlo<precision HIGHEST>, #stablehlo<precision HIGHEST>], rhs_dilation = array<i64: 1>, window_reversal = array<i1: false>, window_strides = array<i64: 1>} : (tensor<5x2x4xf32>, tensor<4x2x2xf32>) -> tensor<2x4x3xf32>
    "func.return"(%0) : (tensor<2x4x3xf32>) -> ()
  }
}
// -----
// stablehlo.convolution C11: dim(lhs, input_feature_dimension) % feature_group_count = 0
module {
  func.func @main(%arg0: tensor<2x5x4xf32>, %arg1: tensor<4x2x2xf32>) -> tensor<2x4x3xf32> {
    %0 = "stablehlo.convolution"(%arg0, %arg1) {batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<raw input_batch_dimension = 0, input_feature_dimension = 1, input_spatial_dimensions = [2], kernel_input_feature_dimension = 1, kernel_output_feature_dimension = 0, kernel_spatial_dimensions = [2], output_batch_dimension = 0, output_feature_dimension = 1, output_spatial_dimensions = [2]>, feature_group_count = 2 : i64, lhs_dilation = array<i64: 1>, padding = dense<[[0, 0]]> : tensor<1x2xi64>, precision_config = [#stablehlo<precision HIGHEST>, #stablehlo<precision HIGHEST>], rhs_dilation = array<i64: 1>, window_reversal = array<i1: false>, window_strides = array<i64: 1>} : (tensor<2x5x4xf32>, tensor<4x2x2xf32>) -> tensor<2x4x3xf32>
    "func.return"(%0) : (tensor<2x4x3xf32>) -> ()
  }
}
// -----
// stablehlo.convolution C12, with others: size(input_spatial_dimensions) = N - 2
module {
  func.func @main(%arg0: tensor<2x2x5x4xf32>, %arg1: tensor<2x2x3x2xf32>) -> tensor<2x2x3x3xf32> {
    %0 = "stablehlo.convolution"(%arg0, %arg1) {batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<raw input_batch_dimension = 0, input_feature_dimension = 1, input_spatial_dimensions = [2], kernel_input_feature_dimension = 1, kernel_output_feature_dimension = 0, kernel_spatial_dimensions = [2, 3], output_batch_dimension = 0, output_feature_dimension = 1, output_spatial_dimensions = [2, 3]>, feature_group_count = 1 : i64, lhs_dilation = array<i64: 1, 1>, padding = dense<[[0, 0], [0, 0]]> : tensor<2x2xi64>, precision_config = [#stablehlo<precision HIGHEST>, #stablehlo<precision HIGHEST>], rhs_dilation = array<i64: 1, 1>, window_reversal = array<i1: false, false>, window_strides = array<i64: 1, 1>} : (tensor<2x2x5x4xf32>, tensor<2x2x3x2xf32>) -> tensor<2x2x3x3xf32>
    "func.return"(%0) : (tensor<2x2x3x3xf32>) -> ()
  }
}
// -----
// stablehlo.convolution C13: is_unique(input_dimensions) and 0 <= input_dimensions < rank(lhs)
module {
  func.func @main(%arg0: tensor<2x2x5x4xf32>, %arg1: tensor<2x2x3x2xf32>) -> tensor<2x2x3x3xf32> {
    %0 = "stablehlo.convolution"(%arg0, %arg1) {batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<raw input_batch_dimension = 1, input_feature_dimension = 1, input_spatial_dimensions = [2, 3], kernel_input_feature_dimension = 1, kernel_output_feature_dimension = 0, kernel_spatial_dimensions = [2, 3], output_batch_dimension = 0, output_feature_dimension = 1, output_spatial_dimensions = [2, 3]>, feature_group_count = 1 : i64, lhs_dilation = array<i64: 1, 1>, padding = dense<[[0, 0], [0, 0]]> : tensor<2x2xi64>, precision_config = [#stablehlo<precision HIGHEST>, #stablehlo<precision HIGHEST>], rhs_dilation = array<i64: 1, 1>, window_reversal = array<i1: false, false>, window_strides = array<i64: 1, 1>} : (tensor<2x2x5x4xf32>, tensor<2x2x3x2xf32>) -> tensor<2x2x3x3xf32>
    "func.return"(%0) : (tensor<2x2x3x3xf32>) -> ()
  }
}
// -----
// stablehlo.convolution C14: dim(rhs, kernel_input_feature_dimension) = dim(lhs, input_feature_dimension) / groups
module {
  func.func @main(%arg0: tensor<2x2x5x4xf32>, %arg1: tensor<2x2x3x2xf32>) -> tensor<2x2x3x3xf32> {
    %0 = "stablehlo.convolution"(%arg0, %arg1) {batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<raw input_batch_dimension = 0, input_feature_dimension = 1, input_spatial_dimensions = [2, 3], kernel_input_feature_dimension = 1, kernel_output_feature_dimension = 0, kernel_spatial_dimensions = [2, 3], output_batch_dimension = 0, output_feature_dimension = 1, output_spatial_dimensions = [2, 3]>, feature_group_count = 2 : i64, lhs_dilation = array<i64: 1, 1>, padding = dense<[[0, 0], [0, 0]]> : tensor<2x2xi64>, precision_config = [#stablehlo<precision HIGHEST>, #stablehlo<precision HIGHEST>], rhs_dilation = array<i64: 1, 1>, window_reversal = array<i1: false, false>, window_strides = array<i64: 1, 1>} : (tensor<2x2x5x4xf32>, tensor<2x2x3x2xf32>) -> tensor<2x2x3x3xf32>
    "func.return"(%0) : (tensor<2x2x3x3xf32>) -> ()
  }
}
// -----
// stablehlo.convolution C15: dim(rhs, kernel_output_feature_dimension) % batch_group_count = 0
module {
  func.func @main(%arg0: tensor<4x2x4xf32>, %arg1: tensor<5x2x2xf32>) -> tensor<2x5x3xf32> {
    %0 = "stablehlo.convolution"(%arg0, %arg1) {batch_group_count = 2 : i64, dimension_numbers = #stablehlo.conv<raw input_batch_dimension = 0, input_feature_dimension = 1, input_spatial_dimensions = [2], kernel_input_feature_dimension = 1, kernel_output_feature_dimension = 0, kernel_spatial_dimensions = [2], output_batch_dimension = 0, output_feature_dimension = 1, output_spatial_dimensions = [2]>, feature_group_count = 1 : i64, lhs_dilation = array<i64: 1>, padding = dense<[[0, 0]]> : tensor<1x2xi64>, precision_config = [#stablehlo<precision HIGHEST>, #stablehlo<precision HIGHEST>], rhs_dilation = array<i64: 1>, window_reversal = array<i1: false>, window_strides = array<i64: 1>} : (tensor<4x2x4xf32>, tensor<5x2x2xf32>) -> tensor<2x5x3xf32>
    "func.return"(%0) : (tensor<2x5x3xf32>) -> ()
  }
}
// -----
// stablehlo.convolution C16: dim(rhs, kernel_output_feature_dimension) % feature_group_count = 0
module {
  func.func @main(%arg0: tensor<2x4x4xf32>, %arg1: tensor<5x2x2xf32>) -> tensor<2x5x3xf32> {
    %0 = "stablehlo.convolution"(%arg0, %arg1) {batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<raw input_batch_dimension = 0, input_feature_dimension = 1, input_spatial_dimensions = [2], kernel_input_feature_dimension = 1, kernel_output_feature_dimension = 0, kernel_spatial_dimensions = [2], output_batch_dimension = 0, output_feature_dimension = 1, output_spatial_dimensions = [2]>, feature_group_count = 2 : i64, lhs_dilation = array<i64: 1>, padding = dense<[[0, 0]]> : tensor<1x2xi64>, precision_config = [#stablehlo<precision HIGHEST>, #stablehlo<precision HIGHEST>], rhs_dilation = array<i64: 1>, window_reversal = array<i1: false>, window_strides = array<i64: 1>} : (tensor<2x4x4xf32>, tensor<5x2x2xf32>) -> tensor<2x5x3xf32>
    "func.return"(%0) : (tensor<2x5x3xf32>) -> ()
  }
}
// -----
// stablehlo.convolution C17, with others: size(kernel_spatial_dimensions) = N - 2
module {
  func.func @main(%arg0: tensor<2x2x5x4xf32>, %arg1: tensor<2x2x3x2xf32>) -> tensor<2x2x3x3xf32> {
    %0 = "stablehlo.convolution"(%arg0, %arg1) {batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<raw input_batch_dimension = 0, input_feature_dimension = 1, input_spatial_dimensions = [2, 3], kernel_input_feature_dimension = 1, kernel_output_feature_dimension = 0, kernel_spatial_dimensions = [2], output_batch_dimension = 0, output_feature_dimension = 1, output_spatial_dimensions = [2, 3]>, feature_group_count = 1 : i64, lhs_dilation = array<i64: 1, 1>, padding = dense<[[0, 0], [0, 0]]> : tensor<2x2xi64>, precision_config = [#stablehlo<precision HIGHEST>, #stablehlo<precision HIGHEST>], rhs_dilation = array<i64: 1, 1>, window_reversal = array<i1: false, false>, window_strides = array<i64: 1, 1>} : (tensor<2x2x5x4xf32>, tensor<2x2x3x2xf32>) -> tensor<2x2x3x3xf32>
    "func.return"(%0) : (tensor<2x2x3x3xf32>) -> ()
  }
}
// -----
// stablehlo.convolution C18: is_unique(kernel_dimensions) and 0 <= kernel_dimensions < rank(lhs)
module {
  func.func @main(%arg0: tensor<2x2x5x4xf32>, %arg1: tensor<2x2x3x2xf32>) -> tensor<2x2x3x3xf32> {
    %0 = "stablehlo.convolution"(%arg0, %arg1) {batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<raw input_batch_dimension = 0, input_feature_dimension = 1, input_spatial_dimensions = [2, 3], kernel_input_feature_dimension = 0, kernel_output_feature_dimension = 0, kernel_spatial_dimensions = [2, 3], output_batch_dimension = 0, output_feature_dimension = 1, output_spatial_dimensions = [2, 3]>, feature_group_count = 1 : i64, lhs_dilation = array<i64: 1, 1>, padding = dense<[[0, 0], [0, 0]]> : tensor<2x2xi64>, precision_config = [#stablehlo<precision HIGHEST>, #stablehlo<precision HIGHEST>], rhs_dilation = array<i64: 1, 1>, window_reversal = array<i1: false, false>, window_strides = array<i64: 1, 1>} : (tensor<2x2x5x4xf32>, tensor<2x2x3x2xf32>) -> tensor<2x2x3x3xf32>
    "func.return"(%0) : (tensor<2x2x3x3xf32>) -> ()
  }
}
// -----
// stablehlo.convolution C19, with others: size(output_spatial_dimensions) = N - 2
module {
  func.func @main(%arg0: tensor<2x2x5x4xf32>, %arg1: tensor<2x2x3x2xf32>) -> tensor<2x2x3x3xf32> {
    %0 = "stablehlo.convolution"(%arg0, %arg1) {batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<raw input_batch_dimension = 0, input_feature_dimension = 1, input_spatial_dimensions = [2, 3], kernel_input_feature_dimension = 1, kernel_output_feature_dimension = 0, kernel_spatial_dimensions = [2, 3], output_batch_dimension = 0, output_feature_dimension = 1, output_spatial_dimensions = [2]>, feature_group_count = 1 : i64, lhs_dilation = array<i64: 1, 1>, padding = dense<[[0, 0], [0, 0]]> : tensor<2x2xi64>, precision_config = [#stablehlo<precision HIGHEST>, #stablehlo<precision HIGHEST>], rhs_dilation = array<i64: 1, 1>, window_reversal = array<i1: false, false>, window_strides = array<i64: 1, 1>} : (tensor<2x2x5x4xf32>, tensor<2x2x3x2xf32>) -> tensor<2x2x3x3xf32>
    "func.return"(%0) : (tensor<2x2x3x3xf32>) -> ()
  }
}
// -----
// stablehlo.convolution C20: is_unique(output_dimensions) and 0 <= output_dimensions < rank(lhs)
module {
  func.func @main(%arg0: tensor<2x2x5x4xf32>, %arg1: tensor<2x2x3x2xf32>) -> tensor<2x2x3x3xf32> {
    %0 = "stablehlo.convolution"(%arg0, %arg1) {batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<raw input_batch_dimension = 0, input_feature_dimension = 1, input_spatial_dimensions = [2, 3], kernel_input_feature_dimension = 1, kernel_output_feature_dimension = 0, kernel_spatial_dimensions = [2, 3], output_batch_dimension = 1, output_feature_dimension = 1, output_spatial_dimensions = [2, 3]>, feature_group_count = 1 : i64, lhs_dilation = array<i64: 1, 1>, padding = dense<[[0, 0], [0, 0]]> : tensor<2x2xi64>, precision_config = [#stablehlo<precision HIGHEST>, #stablehlo<precision HIGHEST>], rhs_dilation = array<i64: 1, 1>, window_reversal = array<i1: false, false>, window_strides = array<i64: 1, 1>} : (tensor<2x2x5x4xf32>, tensor<2x2x3x2xf32>) -> tensor<2x2x3x3xf32>
    "func.return"(%0) : (tensor<2x2x3x3xf32>) -> ()
  }
}
// -----
// stablehlo.convolution C21: 0 < feature_group_count
module {
  func.func @main(%arg0: tensor<2x2x5x4xf32>, %arg1: tensor<2x2x3x2xf32>) -> tensor<2x2x3x3xf32> {
    %0 = "stablehlo.convolution"(%arg0, %arg1) {batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<raw input_batch_dimension = 0, input_feature_dimension = 1, input_spatial_dimensions = [2, 3], kernel_input_feature_dimension = 1, kernel_output_feature_dimension = 0, kernel_spatial_dimensions = [2, 3], output_batch_dimension = 0, output_feature_dimension = 1, output_spatial_dimensions = [2, 3]>, feature_group_count = 0 : i64, lhs_dilation = array<i64: 1, 1>, padding = dense<[[0, 0], [0, 0]]> : tensor<2x2xi64>, precision_config = [#stablehlo<precision HIGHEST>, #stablehlo<precision HIGHEST>], rhs_dilation = array<i64: 1, 1>, window_reversal = array<i1: false, false>, window_strides = array<i64: 1, 1>} : (tensor<2x2x5x4xf32>, tensor<2x2x3x2xf32>) -> tensor<2x2x3x3xf32>
    "func.return"(%0) : (tensor<2x2x3x3xf32>) -> ()
  }
}
// -----
// stablehlo.convolution C22: 0 < batch_group_count
module {
  func.func @main(%arg0: tensor<2x2x5x4xf32>, %arg1: tensor<2x2x3x2xf32>) -> tensor<?x?x?x?xf32> {
    %0 = "stablehlo.convolution"(%arg0, %arg1) {batch_group_count = -1 : i64, dimension_numbers = #stablehlo.conv<raw input_batch_dimension = 0, input_feature_dimension = 1, input_spatial_dimensions = [2, 3], kernel_input_feature_dimension = 1, kernel_output_feature_dimension = 0, kernel_spatial_dimensions = [2, 3], output_batch_dimension = 0, output_feature_dimension = 1, output_spatial_dimensions = [2, 3]>, feature_group_count = 1 : i64, lhs_dilation = array<i64: 1, 1>, padding = dense<[[0, 0], [0, 0]]> : tensor<2x2xi64>, precision_config = [#stablehlo<precision HIGHEST>, #stablehlo<precision HIGHEST>], rhs_dilation = array<i64: 1, 1>, window_reversal = array<i1: false, false>, window_strides = array<i64: 1, 1>} : (tensor<2x2x5x4xf32>, tensor<2x2x3x2xf32>) -> tensor<?x?x?x?xf32>
    "func.return"(%0) : (tensor<?x?x?x?xf32>) -> ()
  }
}
// -----
// stablehlo.convolution C23: feature_group_count = 1 or batch_group_count = 1
module {
  func.func @main(%arg0: tensor<2x4x4xf32>, %arg1: tensor<4x2x2xf32>) -> tensor<1x4x3xf32> {
    %0 = "stablehlo.convolution"(%arg0, %arg1) {batch_group_count = 2 : i64, dimension_numbers = #stablehlo.conv<raw input_batch_dimension = 0, input_feature_dimension = 1, input_spatial_dimensions = [2], kernel_input_feature_dimension = 1, kernel_output_feature_dimension = 0, kernel_spatial_dimensions = [2], output_batch_dimension = 0, output_feature_dimension = 1, output_spatial_dimensions = [2]>, feature_group_count = 2 : i64, lhs_dilation = array<i64: 1>, padding = dense<[[0, 0]]> : tensor<1x2xi64>, precision_config = [#stablehlo<precision HIGHEST>, #stablehlo<precision HIGHEST>], rhs_dilation = array<i64: 1>, window_reversal = array<i1: false>, window_strides = array<i64: 1>} : (tensor<2x4x4xf32>, tensor<4x2x2xf32>) -> tensor<1x4x3xf32>
    "func.return"(%0) : (tensor<1x4x3xf32>) -> ()
  }
}
// -----
// stablehlo.convolution C24: size(precision_config) = 2; exporters also leave it empty
module {
  func.func @main(%arg0: tensor<2x2x5x4xf32>, %arg1: tensor<2x2x3x2xf32>) -> tensor<2x2x3x3xf32> {
    %0 = "stablehlo.convolution"(%arg0, %arg1) {batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<raw input_batch_dimension = 0, input_feature_dimension = 1, input_spatial_dimensions = [2, 3], kernel_input_feature_dimension = 1, kernel_output_feature_dimension = 0, kernel_spatial_dimensions = [2, 3], output_batch_dimension = 0, output_feature_dimension = 1, output_spatial_dimensions = [2, 3]>, feature_group_count = 1 : i64, lhs_dilation = array<i64: 1, 1>, padding = dense<[[0, 0], [0, 0]]> : tensor<2x2xi64>, precision_config = [#stablehlo<precision HIGHEST>, #stablehlo<precision HIGHEST>, #stablehlo<precision HIGHEST>], rhs_dilation = array<i64: 1, 1>, window_reversal = array<i1: false, false>, window_strides = array<i64: 1, 1>} : (tensor<2x2x5x4xf32>, tensor<2x2x3x2xf32>) -> tensor<2x2x3x3xf32>
    "func.return"(%0) : (tensor<2x2x3x3xf32>) -> ()
  }
}
// -----
// stablehlo.convolution C26, with others: rank(result) = N
module {
  func.func @main(%arg0: tensor<2x2x5x4xf32>, %arg1: tensor<2x2x3x2xf32>) -> tensor<2x2x3x3x1xf32> {
    %0 = "stablehlo.convolution"(%arg0, %arg1) {batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<raw input_batch_dimension = 0, input_feature_dimension = 1, input_spatial_dimensions = [2, 3], kernel_input_feature_dimension = 1, kernel_output_feature_dimension = 0, kernel_spatial_dimensions = [2, 3], output_batch_dimension = 0, output_feature_dimension = 1, output_spatial_dimensions = [2, 3]>, feature_group_count = 1 : i64, lhs_dilation = array<i64: 1, 1>, padding = dense<[[0, 0], [0, 0]]> : tensor<2x2xi64>, precision_config = [#stablehlo<precision HIGHEST>, #stablehlo<precision HIGHEST>], rhs_dilation = array<i64: 1, 1>, window_reversal = array<i1: false, false>, window_strides = array<i64: 1, 1>} : (tensor<2x2x5x4xf32>, tensor<2x2x3x2xf32>) -> tensor<2x2x3x3x1xf32>
    "func.return"(%0) : (tensor<2x2x3x3x1xf32>) -> ()
  }
}
// -----
// stablehlo.convolution C25: dim(result) = batches / batch_group_count, num_windows and output features
module {
  func.func @main(%arg0: tensor<2x2x5x4xf32>, %arg1: tensor<2x2x3x2xf32>) -> tensor<2x2x3x3xf32> {
    %0 = "stablehlo.convolution"(%arg0, %arg1) {batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<raw input_batch_dimension = 0, input_feature_dimension = 1, input_spatial_dimensions = [2, 3], kernel_input_feature_dimension = 1, kernel_output_feature_dimension = 0, kernel_spatial_dimensions = [2, 3], output_batch_dimension = 0, output_feature_dimension = 1, output_spatial_dimensions = [2, 3]>, feature_group_count = 1 : i64, lhs_dilation = array<i64: 1, 1>, padding = dense<[[0, 0], [0, 0]]> : tensor<2x2xi64>, precision_config = [#stablehlo<precision HIGHEST>, #stablehlo<precision HIGHEST>], rhs_dilation = array<i64: 1, 1>, window_reversal = array<i1: false, false>, window_strides = array<i64: 2, 1>} : (tensor<2x2x5x4xf32>, tensor<2x2x3x2xf32>) -> tensor<2x2x3x3xf32>
    "func.return"(%0) : (tensor<2x2x3x3xf32>) -> ()
  }
}
// -----
// stablehlo.convolution C27: element_type(lhs) = element_type(rhs) = element_type(result); here operands at least of one kind
module {
  func.func @main(%arg0: tensor<2x2x5x4xi32>, %arg1: tensor<2x2x3x2xf32>) -> tensor<2x2x3x3xf32> {
    %0 = "stablehlo.convolution"(%arg0, %arg1) {batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<raw input_batch_dimension = 0, input_feature_dimension = 1, input_spatial_dimensions = [2, 3], kernel_input_feature_dimension = 1, kernel_output_feature_dimension = 0, kernel_spatial_dimensions = [2, 3], output_batch_dimension = 0, output_feature_dimension = 1, output_spatial_dimensions = [2, 3]>, feature_group_count = 1 : i64, lhs_dilation = array<i64: 1, 1>, padding = dense<[[0, 0], [0, 0]]> : tensor<2x2xi64>, precision_config = [#stablehlo<precision HIGHEST>, #stablehlo<precision HIGHEST>], rhs_dilation = array<i64: 1, 1>, window_reversal = array<i1: false, false>, window_strides = array<i64: 1, 1>} : (tensor<2x2x5x4xi32>, tensor<2x2x3x2xf32>) -> tensor<2x2x3x3xf32>
    "func.return"(%0) : (tensor<2x2x3x3xf32>) -> ()
  }
}
// -----
// stablehlo.convolution C28: is_quantized(lhs) = is_quantized(result) and is_quantized(rhs), where anything is quantized
module {
  func.func @main(%arg0: tensor<2x2x5x4x!quant.uniform<i8:f32, 0.5:-3>>, %arg1: tensor<2x2x3x2xf32>) -> tensor<2x2x3x3xf32> {
    %0 = "stablehlo.convolution"(%arg0, %arg1) {batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<raw input_batch_dimension = 0, input_feature_dimension = 1, input_spatial_dimensions = [2, 3], kernel_input_feature_dimension = 1, kernel_output_feature_dimension = 0, kernel_spatial_dimensions = [2, 3], output_batch_dimension = 0, output_feature_dimension = 1, output_spatial_dimensions = [2, 3]>, feature_group_count = 1 : i64, lhs_dilation = array<i64: 1, 1>, padding = dense<[[0, 0], [0, 0]]> : tensor<2x2xi64>, precision_config = [#stablehlo<precision HIGHEST>, #stablehlo<precision HIGHEST>], rhs_dilation = array<i64: 1, 1>, window_reversal = array<i1: false, false>, window_strides = array<i64: 1, 1>} : (tensor<2x2x5x4x!quant.uniform<i8:f32, 0.5:-3>>, tensor<2x2x3x2xf32>) -> tensor<2x2x3x3xf32>
    "func.return"(%0) : (tensor<2x2x3x3xf32>) -> ()
  }
}
// -----
// stablehlo.convolution C29: is_per_axis_quantized(rhs) implies quantization_dimension(rhs) = kernel_output_feature_dimension
module {
  func.func @main(%arg0: tensor<2x2x5x4xf32>, %arg1: tensor<2x2x3x2x!quant.uniform<i8:f32:1, {0.5:-3, 0.75:-3}>>) -> tensor<2x2x3x3xf32> {
    %0 = "stablehlo.convolution"(%arg0, %arg1) {batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<raw input_batch_dimension = 0, input_feature_dimension = 1, input_spatial_dimensions = [2, 3], kernel_input_feature_dimension = 1, kernel_output_feature_dimension = 0, kernel_spatial_dimensions = [2, 3], output_batch_dimension = 0, output_feature_dimension = 1, output_spatial_dimensions = [2, 3]>, feature_group_count = 1 : i64, lhs_dilation = array<i64: 1, 1>, padding = dense<[[0, 0], [0, 0]]> : tensor<2x2xi64>, precision_config = [#stablehlo<precision HIGHEST>, #stablehlo<precision HIGHEST>], rhs_dilation = array<i64: 1, 1>, window_reversal = array<i1: false, false>, window_strides = array<i64: 1, 1>} : (tensor<2x2x5x4xf32>, tensor<2x2x3x2x!quant.uniform<i8:f32:1, {0.5:-3, 0.75:-3}>>) -> tensor<2x2x3x3xf32>
    "func.return"(%0) : (tensor<2x2x3x3xf32>) -> ()
  }
}
// -----
// stablehlo.convolution C30: is_per_axis_quantized(result) implies quantization_dimension(result) = output_feature_dimension
module {
  func.func @main(%arg0: tensor<2x2x7x!quant.uniform<i8:f32, 0.5:-3>>, %arg1: tensor<2x2x3x!quant.uniform<i8:f32:0, {0.5:-3, 0.75:-3}>>) -> tensor<2x2x3x!quant.uniform<i8:f32:0, {0.5:-3, 0.75:-3}>> {
    %0 = "stablehlo.convolution"(%arg0, %arg1) {batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<raw input_batch_dimension = 0, input_feature_dimension = 1, input_spatial_dimensions = [2], kernel_input_feature_dimension = 1, kernel_output_feature_dimension = 0, kernel_spatial_dimensions = [2], output_batch_dimension = 0, output_feature_dimension = 1, output_spatial_dimensions = [2]>, feature_group_count = 1 : i64, lhs_dilation = array<i64: 1>, padding = dense<[[0, 0]]> : tensor<1x2xi64>, precision_config = [#stablehlo<precision HIGHEST>, #stablehlo<precision HIGHEST>], rhs_dilation = array<i64: 1>, window_reversal = array<i1: false>, window_strides = array<i64: 2>} : (tensor<2x2x7x!quant.uniform<i8:f32, 0.5:-3>>, tensor<2x2x3x!quant.uniform<i8:f32:0, {0.5:-3, 0.75:-3}>>) -> tensor<2x2x3x!quant.uniform<i8:f32:0, {0.5:-3, 0.75:-3}>>
    "func.return"(%0) : (tensor<2x2x3x!quant.uniform<i8:f32:0, {0.5:-3, 0.75:-3}>>) -> ()
  }
}
// -----
// stablehlo.convolution C31: storage_type(lhs) = storage_type(rhs), where lhs is quantized
module {
  func.func @main(%arg0: tensor<2x2x5x4x!quant.uniform<i16:f32, 0.5:-3>>, %arg1: tensor<2x2x3x2x!quant.uniform<i8:f32, 0.5:-3>>) -> tensor<2x2x3x3x!quant.uniform<i8:f32, 0.5:-3>> {
    %0 = "stablehlo.convolution"(%arg0, %arg1) {batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<raw input_batch_dimension = 0, input_feature_dimension = 1, input_spatial_dimensions = [2, 3], kernel_input_feature_dimension = 1, kernel_output_feature_dimension = 0, kernel_spatial_dimensions = [2, 3], output_batch_dimension = 0, output_feature_dimension = 1, output_spatial_dimensions = [2, 3]>, feature_group_count = 1 : i64, lhs_dilation = array<i64: 1, 1>, padding = dense<[[0, 0], [0, 0]]> : tensor<2x2xi64>, precision_config = [#stablehlo<precision HIGHEST>, #stablehlo<precision HIGHEST>], rhs_dilation = array<i64: 1, 1>, window_reversal = array<i1: false, false>, window_strides = array<i64: 1, 1>} : (tensor<2x2x5x4x!quant.uniform<i16:f32, 0.5:-3>>, tensor<2x2x3x2x!quant.uniform<i8:f32, 0.5:-3>>) -> tensor<2x2x3x3x!quant.uniform<i8:f32, 0.5:-3>>
    "func.return"(%0) : (tensor<2x2x3x3x!quant.uniform<i8:f32, 0.5:-3>>) -> ()
  }
}
// -----
// stablehlo.convolution C32: expressed_type(lhs) = expressed_type(rhs) = expressed_type(result), where lhs is quantized
module {
  func.func @main(%arg0: tensor<2x2x5x4x!quant.uniform<i8:f64, 0.5:-3>>, %arg1: tensor<2x2x3x2x!quant.uniform<i8:f32, 0.5:-3>>) -> tensor<2x2x3x3x!quant.uniform<i8:f32, 0.5:-3>> {
    %0 = "stablehlo.convolution"(%arg0, %arg1) {batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<raw input_batch_dimension = 0, input_feature_dimension = 1, input_spatial_dimensions = [2, 3], kernel_input_feature_dimension = 1, kernel_output_feature_dimension = 0, kernel_spatial_dimensions = [2, 3], output_batch_dimension = 0, output_feature_dimension = 1, output_spatial_dimensions = [2, 3]>, feature_group_count = 1 : i64, lhs_dilation = array<i64: 1, 1>, padding = dense<[[0, 0], [0, 0]]> : tensor<2x2xi64>, precision_config = [#stablehlo<precision HIGHEST>, #stablehlo<precision HIGHEST>], rhs_dilation = array<i64: 1, 1>, window_reversal = array<i1: false, false>, window_strides = array<i64: 1, 1>} : (tensor<2x2x5x4x!quant.uniform<i8:f64, 0.5:-3>>, tensor<2x2x3x2x!quant.uniform<i8:f32, 0.5:-3>>) -> tensor<2x2x3x3x!quant.uniform<i8:f32, 0.5:-3>>
    "func.return"(%0) : (tensor<2x2x3x3x!quant.uniform<i8:f32, 0.5:-3>>) -> ()
  }
}
// -----
// stablehlo.convolution C33: is_per_tensor_quantized(rhs) implies is_per_tensor_quantized(result), where lhs is quantized
module {
  func.func @main(%arg0: tensor<2x2x5x4x!quant.uniform<i8:f32, 0.5:-3>>, %arg1: tensor<2x2x3x2x!quant.uniform<i8:f32, 0.5:-3>>) -> tensor<2x2x3x3x!quant.uniform<i8:f32:1, {0.5:-3, 0.75:-3}>> {
    %0 = "stablehlo.convolution"(%arg0, %arg1) {batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<raw input_batch_dimension = 0, input_feature_dimension = 1, input_spatial_dimensions = [2, 3], kernel_input_feature_dimension = 1, kernel_output_feature_dimension = 0, kernel_spatial_dimensions = [2, 3], output_batch_dimension = 0, output_feature_dimension = 1, output_spatial_dimensions = [2, 3]>, feature_group_count = 1 : i64, lhs_dilation = array<i64: 1, 1>, padding = dense<[[0, 0], [0, 0]]> : tensor<2x2xi64>, precision_config = [#stablehlo<precision HIGHEST>, #stablehlo<precision HIGHEST>], rhs_dilation = array<i64: 1, 1>, window_reversal = array<i1: false, false>, window_strides = array<i64: 1, 1>} : (tensor<2x2x5x4x!quant.uniform<i8:f32, 0.5:-3>>, tensor<2x2x3x2x!quant.uniform<i8:f32, 0.5:-3>>) -> tensor<2x2x3x3x!quant.uniform<i8:f32:1, {0.5:-3, 0.75:-3}>>
    "func.return"(%0) : (tensor<2x2x3x3x!quant.uniform<i8:f32:1, {0.5:-3, 0.75:-3}>>) -> ()
  }
}
// -----
// stablehlo.convolution C34: element_type(lhs) = expressed_type(rhs) = element_type(result), where lhs is not quantized
module {
  func.func @main(%arg0: tensor<2x2x5x4xf32>, %arg1: tensor<2x2x3x2x!quant.uniform<i8:f64, 0.5:-3>>) -> tensor<2x2x3x3xf32> {
    %0 = "stablehlo.convolution"(%arg0, %arg1) {batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<raw input_batch_dimension = 0, input_feature_dimension = 1, input_spatial_dimensions = [2, 3], kernel_input_feature_dimension = 1, kernel_output_feature_dimension = 0, kernel_spatial_dimensions = [2, 3], output_batch_dimension = 0, output_feature_dimension = 1, output_spatial_dimensions = [2, 3]>, feature_group_count = 1 : i64, lhs_dilation = array<i64: 1, 1>, padding = dense<[[0, 0], [0, 0]]> : tensor<2x2xi64>, precision_config = [#stablehlo<precision HIGHEST>, #stablehlo<precision HIGHEST>], rhs_dilation = array<i64: 1, 1>, window_reversal = array<i1: false, false>, window_strides = array<i64: 1, 1>} : (tensor<2x2x5x4xf32>, tensor<2x2x3x2x!quant.uniform<i8:f64, 0.5:-3>>) -> tensor<2x2x3x3xf32>
    "func.return"(%0) : (tensor<2x2x3x3xf32>) -> ()
  }
}
// -----
// stablehlo.dynamic_conv C1: N = rank(lhs) = rank(rhs)
module {
  func.func @main(%arg0: tensor<2x2x5x4xf32>, %arg1: tensor<2x2x3x2x1xf32>) -> tensor<2x2x3x3xf32> {
    %0 = "stablehlo.constant"() {value = dense<[[0, 0], [0, 0]]> : tensor<2x2xi64>} : () -> tensor<2x2xi64>
    %1 = "stablehlo.dynamic_conv"(%arg0, %arg1, %0) {batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<raw input_batch_dimension = 0, input_feature_dimension = 1, input_spatial_dimensions = [2, 3], kernel_input_feature_dimension = 1, kernel_output_feature_dimension = 0, kernel_spatial_dimensions = [2, 3], output_batch_dimension = 0, output_feature_dimension = 1, output_spatial_dimensions = [2, 3]>, feature_group_count = 1 : i64, lhs_dilation = array<i64: 1, 1>, precision_config = [#stablehlo<precision HIGHEST>, #stablehlo<precision HIGHEST>], rhs_dilation = array<i64: 1, 1>, window_reversal = array<i1: false, false>, window_strides = array<i64: 1, 1>} : (tensor<2x2x5x4xf32>, tensor<2x2x3x2x1xf32>, tensor<2x2xi64>) -> tensor<2x2x3x3xf32>
    "func.return"(%1) : (tensor<2x2x3x3xf32>) -> ()
  }
}
// -----
// stablehlo.dynamic_conv C2: size(window_strides) = N - 2, judged once the sizes of lhs are known, as exporters count on
module {
  func.func @main(%arg0: tensor<2x2x5x4xf32>, %arg1: tensor<2x2x3x2xf32>) -> tensor<2x2x3x3xf32> {
    %0 = "stablehlo.constant"() {value = dense<[[0, 0], [0, 0]]> : tensor<2x2xi64>} : () -> tensor<2x2xi64>
    %1 = "stablehlo.dynamic_conv"(%arg0, %arg1, %0) {batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<raw input_batch_dimension = 0, input_feature_dimension = 1, input_spatial_dimensions = [2, 3], kernel_input_feature_dimension = 1, kernel_output_feature_dimension = 0, kernel_spatial_dimensions = [2, 3], output_batch_dimension = 0, output_feature_dimension = 1, output_spatial_dimensions = [2, 3]>, feature_group_count = 1 : i64, lhs_dilation = array<i64: 1, 1>, precision_config = [#stablehlo<precision HIGHEST>, #stablehlo<precision HIGHEST>], rhs_dilation = array<i64: 1, 1>, window_reversal = array<i1: false, false>, window_strides = array<i64: 1>} : (tensor<2x2x5x4xf32>, tensor<2x2x3x2xf32>, tensor<2x2xi64>) -> tensor<2x2x3x3xf32>
    "func.return"(%1) : (tensor<2x2x3x3xf32>) -> ()
  }
}
// -----
// stablehlo.dynamic_conv C3: 0 < window_strides
module {
  func.func @main(%arg0: tensor<2x2x5x4xf32>, %arg1: tensor<2x2x3x2xf32>) -> tensor<2x2x3x3xf32> {
    %0 = "stablehlo.constant"() {value = dense<[[0, 0], [0, 0]]> : tensor<2x2xi64>} : () -> tensor<2x2xi64>
    %1 = "stablehlo.dynamic_conv"(%arg0, %arg1, %0) {batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<raw input_batch_dimension = 0, input_feature_dimension = 1, input_spatial_dimensions = [2, 3], kernel_input_feature_dimension = 1, kernel_output_feature_dimension = 0, kernel_spatial_dimensions = [2, 3], output_batch_dimension = 0, output_feature_dimension = 1, output_spatial_dimensions = [2, 3]>, feature_group_count = 1 : i64, lhs_dilation = array<i64: 1, 1>, precision_config = [#stablehlo<precision HIGHEST>, #stablehlo<precision HIGHEST>], rhs_dilation = array<i64: 1, 1>, window_reversal = array<i1: false, false>, window_strides = array<i64: -1, 1>} : (tensor<2x2x5x4xf32>, tensor<2x2x3x2xf32>, tensor<2x2xi64>) -> tensor<2x2x3x3xf32>
    "func.return"(%1) : (tensor<2x2x3x3xf32>) -> ()
  }
}
// -----
// stablehlo.dynamic_conv C4: shape(padding) = [N - 2, 2]
module {
  func.func @main(%arg0: tensor<2x2xf32>, %arg1: tensor<2x2xf32>) -> tensor<2x2xf32> {
    %0 = "stablehlo.constant"() {value = dense<> : tensor<0x1xi64>} : () -> tensor<0x1xi64>
    %1 = "stablehlo.dynamic_conv"(%arg0, %arg1, %0) {batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<raw input_batch_dimension = 0, input_feature_dimension = 1, input_spatial_dimensions = [], kernel_input_feature_dimension = 1, kernel_output_feature_dimension = 0, kernel_spatial_dimensions = [], output_batch_dimension = 0, output_feature_dimension = 1, output_spatial_dimensions = []>, feature_group_count = 1 : i64, lhs_dilation = array<i64>, precision_config = [#stablehlo<precision HIGHEST>, #stablehlo<precision HIGHEST>], rhs_dilation = array<i64>, window_reversal = array<i1>, window_strides = array<i64>} : (tensor<2x2xf32>, tensor<2x2xf32>, tensor<0x1xi64>) -> tensor<2x2xf32>
    "func.return"(%1) : (tensor<2x2xf32>) -> ()
  }
}
// -----
// stablehlo.dynamic_conv C5, with others: size(lhs_dilation) = N - 2
module {
  func.func @main(%arg0: tensor<2x2x5x4xf32>, %arg1: tensor<2x2x3x2xf32>) -> tensor<2x2x3x3xf32> {
    %0 = "stablehlo.constant"() {value = dense<[[0, 0], [0, 0]]> : tensor<2x2xi64>} : () -> tensor<2x2xi64>
    %1 = "stablehlo.dynamic_conv"(%arg0, %arg1, %0) {batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<raw input_batch_dimension = 0, input_feature_dimension = 1, input_spatial_dimensions = [2, 3], kernel_input_feature_dimension = 1, kernel_output_feature_dimension = 0, kernel_spatial_dimensions = [2, 3], output_batch_dimension = 0, output_feature_dimension = 1, output_spatial_dimensions = [2, 3]>, feature_group_count = 1 : i64, lhs_dilation = array<i64: 1>, precision_config = [#stablehlo<precision HIGHEST>, #stablehlo<precision HIGHEST>], rhs_dilation = array<i64: 1, 1>, window_reversal = array<i1: false, false>, window_strides = array<i64: 1, 1>} : (tensor<2x2x5x4xf32>, tensor<2x2x3x2xf32>, tensor<2x2xi64>) -> tensor<2x2x3x3xf32>
    "func.return"(%1) : (tensor<2x2x3x3xf32>) -> ()
  }
}
// -----
// stablehlo.dynamic_conv C6: 0 < lhs_dilation
module {
  func.func @main(%arg0: tensor<2x2x5x4xf32>, %arg1: tensor<2x2x3x2xf32>) -> tensor<2x2x0x3xf32> {
    %0 = "stablehlo.constant"() {value = dense<[[0, 0], [0, 0]]> : tensor<2x2xi64>} : () -> tensor<2x2xi64>
    %1 = "stablehlo.dynamic_conv"(%arg0, %arg1, %0) {batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<raw input_batch_dimension = 0, input_feature_dimension = 1, input_spatial_dimensions = [2, 3], kernel_input_feature_dimension = 1, kernel_output_feature_dimension = 0, kernel_spatial_dimensions = [2, 3], output_batch_dimension = 0, output_feature_dimension = 1, output_spatial_dimensions = [2, 3]>, feature_group_count = 1 : i64, lhs_dilation = array<i64: 0, 1>, precision_config = [#stablehlo<precision HIGHEST>, #stablehlo<precision HIGHEST>], rhs_dilation = array<i64: 1, 1>, window_reversal = array<i1: false, false>, window_strides = array<i64: 1, 1>} : (tensor<2x2x5x4xf32>, tensor<2x2x3x2xf32>, tensor<2x2xi64>) -> tensor<2x2x0x3xf32>
    "func.return"(%1) : (tensor<2x2x0x3xf32>) -> ()
  }
}
// -----
// stablehlo.dynamic_conv C7, with others: size(rhs_dilation) = N - 2
module {
  func.func @main(%arg0: tensor<2x2x5x4xf32>, %arg1: tensor<2x2x3x2xf32>) -> tensor<2x2x3x3xf32> {
    %0 = "stablehlo.constant"() {value = dense<[[0, 0], [0, 0]]> : tensor<2x2xi64>} : () -> tensor<2x2xi64>
    %1 = "stablehlo.dynamic_conv"(%arg0, %arg1, %0) {batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<raw input_batch_dimension = 0, input_feature_dimension = 1, input_spatial_dimensions = [2, 3], kernel_input_feature_dimension = 1, kernel_output_feature_dimension = 0, kernel_spatial_dimensions = [2, 3], output_batch_dimension = 0, output_feature_dimension = 1, output_spatial_dimensions = [2, 3]>, feature_group_count = 1 : i64, lhs_dilation = array<i64: 1, 1>, precision_config = [#stablehlo<precision HIGHEST>, #stablehlo<precision HIGHEST>], rhs_dilation = array<i64: 1>, window_reversal = array<i1: false, false>, window_strides = array<i64: 1, 1>} : (tensor<2x2x5x4xf32>, tensor<2x2x3x2xf32>, tensor<2x2xi64>) -> tensor<2x2x3x3xf32>
    "func.return"(%1) : (tensor<2x2x3x3xf32>) -> ()
  }
}
// -----
// stablehlo.dynamic_conv C8: 0 < rhs_dilation
module {
  func.func @main(%arg0: tensor<2x2x5x4xf32>, %arg1: tensor<2x2x3x2xf32>) -> tensor<2x2x5x3xf32> {
    %0 = "stablehlo.constant"() {value = dense<[[0, 0], [0, 0]]> : tensor<2x2xi64>} : () -> tensor<2x2xi64>
    %1 = "stablehlo.dynamic_conv"(%arg0, %arg1, %0) {batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<raw input_batch_dimension = 0, input_feature_dimension = 1, input_spatial_dimensions = [2, 3], kernel_input_feature_dimension = 1, kernel_output_feature_dimension = 0, kernel_spatial_dimensions = [2, 3], output_batch_dimension = 0, output_feature_dimension = 1, output_spatial_dimensions = [2, 3]>, feature_group_count = 1 : i64, lhs_dilation = array<i64: 1, 1>, precision_config = [#stablehlo<precision HIGHEST>, #stablehlo<precision HIGHEST>], rhs_dilation = array<i64: 0, 1>, window_reversal = array<i1: false, false>, window_strides = array<i64: 1, 1>} : (tensor<2x2x5x4xf32>, tensor<2x2x3x2xf32>, tensor<2x2xi64>) -> tensor<2x2x5x3xf32>
    "func.return"(%1) : (tensor<2x2x5x3xf32>) -> ()
  }
}
// -----
// stablehlo.dynamic_conv C9: size(window_reversal) = N - 2
module {
  func.func @main(%arg0: tensor<2x2x5x4xf32>, %arg1: tensor<2x2x3x2xf32>) -> tensor<2x2x3x3xf32> {
    %0 = "stablehlo.constant"() {value = dense<[[0, 0], [0, 0]]> : tensor<2x2xi64>} : () -> tensor<2x2xi64>
    %1 = "stablehlo.dynamic_conv"(%arg0, %arg1, %0) {batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<raw input_batch_dimension = 0, input_feature_dimension = 1, input_spatial_dimensions = [2, 3], kernel_input_feature_dimension = 1, kernel_output_feature_dimension = 0, kernel_spatial_dimensions = [2, 3], output_batch_dimension = 0, output_feature_dimension = 1, output_spatial_dimensions = [2, 3]>, feature_group_count = 1 : i64, lhs_dilation = array<i64: 1, 1>, precision_config = [#stablehlo<precision HIGHEST>, #stablehlo<precision HIGHEST>], rhs_dilation = array<i64: 1, 1>, window_reversal = array<i1: false>, window_strides = array<i64: 1, 1>} : (tensor<2x2x5x4xf32>, tensor<2x2x3x2xf32>, tensor<2x2xi64>) -> tensor<2x2x3x3xf32>
    "func.return"(%1) : (tensor<2x2x3x3xf32>) -> ()
  }
}
// -----
// stablehlo.dynamic_conv C10: dim(lhs, input_batch_dimension) % batch_group_count = 0
module {
  func.func @main(%arg0: tensor<5x2x4xf32>, %arg1: tensor<4x2x2xf32>) -> tensor<2x4x3xf32> {
    %0 = "stablehlo.constant"() {value = dense<[[0, 0]]> : tensor<1x2xi64>} : () -> tensor<1x2xi64>
    %1 = "stablehlo.dynamic_conv"(%arg0, %arg1, %0) {batch_group_count = 2 : i64, dimension_numbers = #stablehlo.conv<raw input_batch_dimension = 0, input_feature_dimension = 1, input_spatial_dimensions = [2], kernel_input_feature_dimension = 1, kernel_output_feature_dimension = 0, kernel_spatial_dimensions = [2], output_batch_dimension = 0, output_feature_dimension = 1, output_spatial_dimensions = [2]>, feature_group_count = 1 : i64, lhs_dilation = array<i64: 1>, precision_config = [#stablehlo<precision HIGHEST>, #stablehlo<precision HIGHEST>], rhs_dilation = array<i64: 1>, window_reversal = array<i1: false>, window_strides = array<i64: 1>} : (tensor<5x2x4xf32>, tensor<4x2x2xf32>, tensor<1x2xi64>) -> tensor<2x4x3xf32>
    "func.return"(%1) : (tensor<2x4x3xf32>) -> ()
  }
}
// -----
// stablehlo.dynamic_conv C11: dim(lhs, input_feature_dimension) % feature_group_count = 0
module {
  func.func @main(%arg0: tensor<2x5x4xf32>, %arg1: tensor<4x2x2xf32>) -> tensor<2x4x3xf32> {
    %0 = "stablehlo.constant"() {value = dense<[[0, 0]]> : tensor<1x2xi64>} : () -> tensor<1x2xi64>
    %1 = "stablehlo.dynamic_conv"(%arg0, %arg1, %0) {batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<raw input_batch_dimension = 0, input_feature_dimension = 1, input_spatial_dimensions = [2], kernel_input_feature_dimension = 1, kernel_output_feature_dimension = 0, kernel_spatial_dimensions = [2], output_batch_dimension = 0, output_feature_dimension = 1, output_spatial_dimensions = [2]>, feature_group_count = 2 : i64, lhs_dilation = array<i64: 1>, precision_config = [#stablehlo<precision HIGHEST>, #stablehlo<precision HIGHEST>], rhs_dilation = array<i64: 1>, window_reversal = array<i1: false>, window_strides = array<i64: 1>} : (tensor<2x5x4xf32>, tensor<4x2x2xf32>, tensor<1x2xi64>) -> tensor<2x4x3xf32>
    "func.return"(%1) : (tensor<2x4x3xf32>) -> ()
  }
}
// -----
// stablehlo.dynamic_conv C12, with others: size(input_spatial_dimensions) = N - 2
module {
  func.func @main(%arg0: tensor<2x2x5x4xf32>, %arg1: tensor<2x2x3x2xf32>) -> tensor<2x2x3x3xf32> {
    %0 = "stablehlo.constant"() {value = dense<[[0, 0], [0, 0]]> : tensor<2x2xi64>} : () -> tensor<2x2xi64>
    %1 = "stablehlo.dynamic_conv"(%arg0, %arg1, %0) {batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<raw input_batch_dimension = 0, input_feature_dimension = 1, input_spatial_dimensions = [2], kernel_input_feature_dimension = 1, kernel_output_feature_dimension = 0, kernel_spatial_dimensions = [2, 3], output_batch_dimension = 0, output_feature_dimension = 1, output_spatial_dimensions = [2, 3]>, feature_group_count = 1 : i64, lhs_dilation = array<i64: 1, 1>, precision_config = [#stablehlo<precision HIGHEST>, #stablehlo<precision HIGHEST>], rhs_dilation = array<i64: 1, 1>, window_reversal = array<i1: false, false>, window_strides = array<i64: 1, 1>} : (tensor<2x2x5x4xf32>, tensor<2x2x3x2xf32>, tensor<2x2xi64>) -> tensor<2x2x3x3xf32>
    "func.return"(%1) : (tensor<2x2x3x3xf32>) -> ()
  }
}
// -----
// stablehlo.dynamic_conv C13: is_unique(input_dimensions) and 0 <= input_dimensions < rank(lhs)
module {
  func.func @main(%arg0: tensor<2x2x5x4xf32>, %arg1: tensor<2x2x3x2xf32>) -> tensor<2x2x3x3xf32> {
    %0 = "stablehlo.constant"() {value = dense<[[0, 0], [0, 0]]> : tensor<2x2xi64>} : () -> tensor<2x2xi64>
    %1 = "stablehlo.dynamic_conv"(%arg0, %arg1, %0) {batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<raw input_batch_dimension = 1, input_feature_dimension = 1, input_spatial_dimensions = [2, 3], kernel_input_feature_dimension = 1, kernel_output_feature_dimension = 0, kernel_spatial_dimensions = [2, 3], output_batch_dimension = 0, output_feature_dimension = 1, output_spatial_dimensions = [2, 3]>, feature_group_count = 1 : i64, lhs_dilation = array<i64: 1, 1>, precision_config = [#stablehlo<precision HIGHEST>, #stablehlo<precision HIGHEST>], rhs_dilation = array<i64: 1, 1>, window_reversal = array<i1: false, false>, window_strides = array<i64: 1, 1>} : (tensor<2x2x5x4xf32>, tensor<2x2x3x2xf32>, tensor<2x2xi64>) -> tensor<2x2x3x3xf32>
    "func.return"(%1) : (tensor<2x2x3x3xf32>) -> ()
  }
}
// -----
// stablehlo.dynamic_conv C14: dim(rhs, kernel_input_feature_dimension) = dim(lhs, input_feature_dimension) / groups
module {
  func.func @main(%arg0: tensor<2x2x5x4xf32>, %arg1: tensor<2x2x3x2xf32>) -> tensor<2x2x3x3xf32> {
    %0 = "stablehlo.constant"() {value = dense<[[0, 0], [0, 0]]> : tensor<2x2xi64>} : () -> tensor<2x2xi64>
    %1 = "stablehlo.dynamic_conv"(%arg0, %arg1, %0) {batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<raw input_batch_dimension = 0, input_feature_dimension = 1, input_spatial_dimensions = [2, 3], kernel_input_feature_dimension = 1, kernel_output_feature_dimension = 0, kernel_spatial_dimensions = [2, 3], output_batch_dimension = 0, output_feature_dimension = 1, output_spatial_dimensions = [2, 3]>, feature_group_count = 2 : i64, lhs_dilation = array<i64: 1, 1>, precision_config = [#stablehlo<precision HIGHEST>, #stablehlo<precision HIGHEST>], rhs_dilation = array<i64: 1, 1>, window_reversal = array<i1: false, false>, window_strides = array<i64: 1, 1>} : (tensor<2x2x5x4xf32>, tensor<2x2x3x2xf32>, tensor<2x2xi64>) -> tensor<2x2x3x3xf32>
    "func.return"(%1) : (tensor<2x2x3x3xf32>) -> ()
  }
}
// -----
// stablehlo.dynamic_conv C15: dim(rhs, kernel_output_feature_dimension) % batch_group_count = 0
module {
  func.func @main(%arg0: tensor<4x2x4xf32>, %arg1: tensor<5x2x2xf32>) -> tensor<2x5x3xf32> {
    %0 = "stablehlo.constant"() {value = dense<[[0, 0]]> : tensor<1x2xi64>} : () -> tensor<1x2xi64>
    %1 = "stablehlo.dynamic_conv"(%arg0, %arg1, %0) {batch_group_count = 2 : i64, dimension_numbers = #stablehlo.conv<raw input_batch_dimension = 0, input_feature_dimension = 1, input_spatial_dimensions = [2], kernel_input_feature_dimension = 1, kernel_output_feature_dimension = 0, kernel_spatial_dimensions = [2], output_batch_dimension = 0, output_feature_dimension = 1, output_spatial_dimensions = [2]>, feature_group_count = 1 : i64, lhs_dilation = array<i64: 1>, precision_config = [#stablehlo<precision HIGHEST>, #stablehlo<precision HIGHEST>], rhs_dilation = array<i64: 1>, window_reversal = array<i1: false>, window_strides = array<i64: 1>} : (tensor<4x2x4xf32>, tensor<5x2x2xf32>, tensor<1x2xi64>) -> tensor<2x5x3xf32>
    "func.return"(%1) : (tensor<2x5x3xf32>) -> ()
  }
}
// -----
// stablehlo.dynamic_conv C16: dim(rhs, kernel_output_feature_dimension) % feature_group_count = 0
module {
  func.func @main(%arg0: tensor<2x4x4xf32>, %arg1: tensor<5x2x2xf32>) -> tensor<2x5x3xf32> {
    %0 = "stablehlo.constant"() {value = dense<[[0, 0]]> : tensor<1x2xi64>} : () -> tensor<1x2xi64>
    %1 = "stablehlo.dynamic_conv"(%arg0, %arg1, %0) {batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<raw input_batch_dimension = 0, input_feature_dimension = 1, input_spatial_dimensions = [2], kernel_input_feature_dimension = 1, kernel_output_feature_dimension = 0, kernel_spatial_dimensions = [2], output_batch_dimension = 0, output_feature_dimension = 1, output_spatial_dimensions = [2]>, feature_group_count = 2 : i64, lhs_dilation = array<i64: 1>, precision_config = [#stablehlo<precision HIGHEST>, #stablehlo<precision HIGHEST>], rhs_dilation = array<i64: 1>, window_reversal = array<i1: false>, window_strides = array<i64: 1>} : (tensor<2x4x4xf32>, tensor<5x2x2xf32>, tensor<1x2xi64>) -> tensor<2x5x3xf32>
    "func.return"(%1) : (tensor<2x5x3xf32>) -> ()
  }
}
// -----
// stablehlo.dynamic_conv C17, with others: size(kernel_spatial_dimensions) = N - 2
module {
  func.func @main(%arg0: tensor<2x2x5x4xf32>, %arg1: tensor<2x2x3x2xf32>) -> tensor<2x2x3x3xf32> {
    %0 = "stablehlo.constant"() {value = dense<[[0, 0], [0, 0]]> : tensor<2x2xi64>} : () -> tensor<2x2xi64>
    %1 = "stablehlo.dynamic_conv"(%arg0, %arg1, %0) {batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<raw input_batch_dimension = 0, input_feature_dimension = 1, input_spatial_dimensions = [2, 3], kernel_input_feature_dimension = 1, kernel_output_feature_dimension = 0, kernel_spatial_dimensions = [2], output_batch_dimension = 0, output_feature_dimension = 1, output_spatial_dimensions = [2, 3]>, feature_group_count = 1 : i64, lhs_dilation = array<i64: 1, 1>, precision_config = [#stablehlo<precision HIGHEST>, #stablehlo<precision HIGHEST>], rhs_dilation = array<i64: 1, 1>, window_reversal = array<i1: false, false>, window_strides = array<i64: 1, 1>} : (tensor<2x2x5x4xf32>, tensor<2x2x3x2xf32>, tensor<2x2xi64>) -> tensor<2x2x3x3xf32>
    "func.return"(%1) : (tensor<2x2x3x3xf32>) -> ()
  }
}
// -----
// stablehlo.dynamic_conv C18: is_unique(kernel_dimensions) and 0 <= kernel_dimensions < rank(lhs)
module {
  func.func @main(%arg0: tensor<2x2x5x4xf32>, %arg1: tensor<2x2x3x2xf32>) -> tensor<2x2x3x3xf32> {
    %0 = "stablehlo.constant"() {value = dense<[[0, 0], [0, 0]]> : tensor<2x2xi64>} : () -> tensor<2x2xi64>
    %1 = "stablehlo.dynamic_conv"(%arg0, %arg1, %0) {batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<raw input_batch_dimension = 0, input_feature_dimension = 1, input_spatial_dimensions = [2, 3], kernel_input_feature_dimension = 0, kernel_output_feature_dimension = 0, kernel_spatial_dimensions = [2, 3], output_batch_dimension = 0, output_feature_dimension = 1, output_spatial_dimensions = [2, 3]>, feature_group_count = 1 : i64, lhs_dilation = array<i64: 1, 1>, precision_config = [#stablehlo<precision HIGHEST>, #stablehlo<precision HIGHEST>], rhs_dilation = array<i64: 1, 1>, window_reversal = array<i1: false, false>, window_strides = array<i64: 1, 1>} : (tensor<2x2x5x4xf32>, tensor<2x2x3x2xf32>, tensor<2x2xi64>) -> tensor<2x2x3x3xf32>
    "func.return"(%1) : (tensor<2x2x3x3xf32>) -> ()
  }
}
// -----
// stablehlo.dynamic_conv C19, with others: size(output_spatial_dimensions) = N - 2
module {
  func.func @main(%arg0: tensor<2x2x5x4xf32>, %arg1: tensor<2x2x3x2xf32>) -> tensor<2x2x3x3xf32> {
    %0 = "stablehlo.constant"() {value = dense<[[0, 0], [0, 0]]> : tensor<2x2xi64>} : () -> tensor<2x2xi64>
    %1 = "stablehlo.dynamic_conv"(%arg0, %arg1, %0) {batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<raw input_batch_dimension = 0, input_feature_dimension = 1, input_spatial_dimensions = [2, 3], kernel_input_feature_dimension = 1, kernel_output_feature_dimension = 0, kernel_spatial_dimensions = [2, 3], output_batch_dimension = 0, output_feature_dimension = 1, output_spatial_dimensions = [2]>, feature_group_count = 1 : i64, lhs_dilation = array<i64: 1, 1>, precision_config = [#stablehlo<precision HIGHEST>, #stablehlo<precision HIGHEST>], rhs_dilation = array<i64: 1, 1>, window_reversal = array<i1: false, false>, window_strides = array<i64: 1, 1>} : (tensor<2x2x5x4xf32>, tensor<2x2x3x2xf32>, tensor<2x2xi64>) -> tensor<2x2x3x3xf32>
    "func.return"(%1) : (tensor<2x2x3x3xf32>) -> ()
  }
}
// -----
// stablehlo.dynamic_conv C20: is_unique(output_dimensions) and 0 <= output_dimensions < rank(lhs)
module {
  func.func @main(%arg0: tensor<2x2x5x4xf32>, %arg1: tensor<2x2x3x2xf32>) -> tensor<2x2x3x3xf32> {
    %0 = "stablehlo.constant"() {value = dense<[[0, 0], [0, 0]]> : tensor<2x2xi64>} : () -> tensor<2x2xi64>
    %1 = "stablehlo.dynamic_conv"(%arg0, %arg1, %0) {batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<raw input_batch_dimension = 0, input_feature_dimension = 1, input_spatial_dimensions = [2, 3], kernel_input_feature_dimension = 1, kernel_output_feature_dimension = 0, kernel_spatial_dimensions = [2, 3], output_batch_dimension = 1, output_feature_dimension = 1, output_spatial_dimensions = [2, 3]>, feature_group_count = 1 : i64, lhs_dilation = array<i64: 1, 1>, precision_config = [#stablehlo<precision HIGHEST>, #stablehlo<precision HIGHEST>], rhs_dilation = array<i64: 1, 1>, window_reversal = array<i1: false, false>, window_strides = array<i64: 1, 1>} : (tensor<2x2x5x4xf32>, tensor<2x2x3x2xf32>, tensor<2x2xi64>) -> tensor<2x2x3x3xf32>
    "func.return"(%1) : (tensor<2x2x3x3xf32>) -> ()
  }
}
// -----
// stablehlo.dynamic_conv C21: 0 < feature_group_count
module {
  func.func @main(%arg0: tensor<2x2x5x4xf32>, %arg1: tensor<2x2x3x2xf32>) -> tensor<2x2x3x3xf32> {
    %0 = "stablehlo.constant"() {value = dense<[[0, 0], [0, 0]]> : tensor<2x2xi64>} : () -> tensor<2x2xi64>
    %1 = "stablehlo.dynamic_conv"(%arg0, %arg1, %0) {batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<raw input_batch_dimension = 0, input_feature_dimension = 1, input_spatial_dimensions = [2, 3], kernel_input_feature_dimension = 1, kernel_output_feature_dimension = 0, kernel_spatial_dimensions = [2, 3], output_batch_dimension = 0, output_feature_dimension = 1, output_spatial_dimensions = [2, 3]>, feature_group_count = 0 : i64, lhs_dilation = array<i64: 1, 1>, precision_config = [#stablehlo<precision HIGHEST>, #stablehlo<precision HIGHEST>], rhs_dilation = array<i64: 1, 1>, window_reversal = array<i1: false, false>, window_strides = array<i64: 1, 1>} : (tensor<2x2x5x4xf32>, tensor<2x2x3x2xf32>, tensor<2x2xi64>) -> tensor<2x2x3x3xf32>
    "func.return"(%1) : (tensor<2x2x3x3xf32>) -> ()
  }
}
// -----
// stablehlo.dynamic_conv C22: 0 < batch_group_count
module {
  func.func @main(%arg0: tensor<2x2x5x4xf32>, %arg1: tensor<2x2x3x2xf32>) -> tensor<?x?x?x?xf32> {
    %0 = "stablehlo.constant"() {value = dense<[[0, 0], [0, 0]]> : tensor<2x2xi64>} : () -> tensor<2x2xi64>
    %1 = "stablehlo.dynamic_conv"(%arg0, %arg1, %0) {batch_group_count = -1 : i64, dimension_numbers = #stablehlo.conv<raw input_batch_dimension = 0, input_feature_dimension = 1, input_spatial_dimensions = [2, 3], kernel_input_feature_dimension = 1, kernel_output_feature_dimension = 0, kernel_spatial_dimensions = [2, 3], output_batch_dimension = 0, output_feature_dimension = 1, output_spatial_dimensions = [2, 3]>, feature_group_count = 1 : i64, lhs_dilation = array<i64: 1, 1>, precision_config = [#stablehlo<precision HIGHEST>, #stablehlo<precision HIGHEST>], rhs_dilation = array<i64: 1, 1>, window_reversal = array<i1: false, false>, window_strides = array<i64: 1, 1>} : (tensor<2x2x5x4xf32>, tensor<2x2x3x2xf32>, tensor<2x2xi64>) -> tensor<?x?x?x?xf32>
    "func.return"(%1) : (tensor<?x?x?x?xf32>) -> ()
  }
}
// -----
// stablehlo.dynamic_conv C23: feature_group_count = 1 or batch_group_count = 1
module {
  func.func @main(%arg0: tensor<2x4x4xf32>, %arg1: tensor<4x2x2xf32>) -> tensor<1x4x3xf32> {
    %0 = "stablehlo.constant"() {value = dense<[[0, 0]]> : tensor<1x2xi64>} : () -> tensor<1x2xi64>
    %1 = "stablehlo.dynamic_conv"(%arg0, %arg1, %0) {batch_group_count = 2 : i64, dimension_numbers = #stablehlo.conv<raw input_batch_dimension = 0, input_feature_dimension = 1, input_spatial_dimensions = [2], kernel_input_feature_dimension = 1, kernel_output_feature_dimension = 0, kernel_spatial_dimensions = [2], output_batch_dimension = 0, output_feature_dimension = 1, output_spatial_dimensions = [2]>, feature_group_count = 2 : i64, lhs_dilation = array<i64: 1>, precision_config = [#stablehlo<precision HIGHEST>, #stablehlo<precision HIGHEST>], rhs_dilation = array<i64: 1>, window_reversal = array<i1: false>, window_strides = array<i64: 1>} : (tensor<2x4x4xf32>, tensor<4x2x2xf32>, tensor<1x2xi64>) -> tensor<1x4x3xf32>
    "func.return"(%1) : (tensor<1x4x3xf32>) -> ()
  }
}
// -----
// stablehlo.dynamic_conv C24: size(precision_config) = 2; exporters also leave it empty
module {
  func.func @main(%arg0: tensor<2x2x5x4xf32>, %arg1: tensor<2x2x3x2xf32>) -> tensor<2x2x3x3xf32> {
    %0 = "stablehlo.constant"() {value = dense<[[0, 0], [0, 0]]> : tensor<2x2xi64>} : () -> tensor<2x2xi64>
    %1 = "stablehlo.dynamic_conv"(%arg0, %arg1, %0) {batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<raw input_batch_dimension = 0, input_feature_dimension = 1, input_spatial_dimensions = [2, 3], kernel_input_feature_dimension = 1, kernel_output_feature_dimension = 0, kernel_spatial_dimensions = [2, 3], output_batch_dimension = 0, output_feature_dimension = 1, output_spatial_dimensions = [2, 3]>, feature_group_count = 1 : i64, lhs_dilation = array<i64: 1, 1>, precision_config = [#stablehlo<precision HIGHEST>, #stablehlo<precision HIGHEST>, #stablehlo<precision HIGHEST>], rhs_dilation = array<i64: 1, 1>, window_reversal = array<i1: false, false>, window_strides = array<i64: 1, 1>} : (tensor<2x2x5x4xf32>, tensor<2x2x3x2xf32>, tensor<2x2xi64>) -> tensor<2x2x3x3xf32>
    "func.return"(%1) : (tensor<2x2x3x3xf32>) -> ()
  }
}
// -----
// stablehlo.dynamic_conv C26, with others: rank(result) = N
module {
  func.func @main(%arg0: tensor<2x2x5x4xf32>, %arg1: tensor<2x2x3x2xf32>) -> tensor<2x2x3x3x1xf32> {
    %0 = "stablehlo.constant"() {value = dense<[[0, 0], [0, 0]]> : tensor<2x2xi64>} : () -> tensor<2x2xi64>
    %1 = "stablehlo.dynamic_conv"(%arg0, %arg1, %0) {batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<raw input_batch_dimension = 0, input_feature_dimension = 1, input_spatial_dimensions = [2, 3], kernel_input_feature_dimension = 1, kernel_output_feature_dimension = 0, kernel_spatial_dimensions = [2, 3], output_batch_dimension = 0, output_feature_dimension = 1, output_spatial_dimensions = [2, 3]>, feature_group_count = 1 : i64, lhs_dilation = array<i64: 1, 1>, precision_config = [#stablehlo<precision HIGHEST>, #stablehlo<precision HIGHEST>], rhs_dilation = array<i64: 1, 1>, window_reversal = array<i1: false, false>, window_strides = array<i64: 1, 1>} : (tensor<2x2x5x4xf32>, tensor<2x2x3x2xf32>, tensor<2x2xi64>) -> tensor<2x2x3x3x1xf32>
    "func.return"(%1) : (tensor<2x2x3x3x1xf32>) -> ()
  }
}
// -----
// stablehlo.dynamic_conv C25: dim(result) = batches / batch_group_count, num_windows and output features
module {
  func.func @main(%arg0: tensor<2x2x5x4xf32>, %arg1: tensor<2x2x3x2xf32>) -> tensor<2x2x3x3xf32> {
    %0 = "stablehlo.constant"() {value = dense<[[0, 0], [0, 0]]> : tensor<2x2xi64>} : () -> tensor<2x2xi64>
    %1 = "stablehlo.dynamic_conv"(%arg0, %arg1, %0) {batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<raw input_batch_dimension = 0, input_feature_dimension = 1, input_spatial_dimensions = [2, 3], kernel_input_feature_dimension = 1, kernel_output_feature_dimension = 0, kernel_spatial_dimensions = [2, 3], output_batch_dimension = 0, output_feature_dimension = 1, output_spatial_dimensions = [2, 3]>, feature_group_count = 1 : i64, lhs_dilation = array<i64: 1, 1>, precision_config = [#stablehlo<precision HIGHEST>, #stablehlo<precision HIGHEST>], rhs_dilation = array<i64: 1, 1>, window_reversal = array<i1: false, false>, window_strides = array<i64: 2, 1>} : (tensor<2x2x5x4xf32>, tensor<2x2x3x2xf32>, tensor<2x2xi64>) -> tensor<2x2x3x3xf32>
    "func.return"(%1) : (tensor<2x2x3x3xf32>) -> ()
  }
}
// -----
// stablehlo.dynamic_conv C27: element_type(lhs) = element_type(rhs) = element_type(result); here operands at least of one kind
module {
  func.func @main(%arg0: tensor<2x2x5x4xi32>, %arg1: tensor<2x2x3x2xf32>) -> tensor<2x2x3x3xf32> {
    %0 = "stablehlo.constant"() {value = dense<[[0, 0], [0, 0]]> : tensor<2x2xi64>} : () -> tensor<2x2xi64>
    %1 = "stablehlo.dynamic_conv"(%arg0, %arg1, %0) {batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<raw input_batch_dimension = 0, input_feature_dimension = 1, input_spatial_dimensions = [2, 3], kernel_input_feature_dimension = 1, kernel_output_feature_dimension = 0, kernel_spatial_dimensions = [2, 3], output_batch_dimension = 0, output_feature_dimension = 1, output_spatial_dimensions = [2, 3]>, feature_group_count = 1 : i64, lhs_dilation = array<i64: 1, 1>, precision_config = [#stablehlo<precision HIGHEST>, #stablehlo<precision HIGHEST>], rhs_dilation = array<i64: 1, 1>, window_reversal = array<i1: false, false>, window_strides = array<i64: 1, 1>} : (tensor<2x2x5x4xi32>, tensor<2x2x3x2xf32>, tensor<2x2xi64>) -> tensor<2x2x3x3xf32>
    "func.return"(%1) : (tensor<2x2x3x3xf32>) -> ()
  }
}
// -----
// stablehlo.dynamic_conv C28: is_quantized(lhs) = is_quantized(result) and is_quantized(rhs), where anything is quantized
module {
  func.func @main(%arg0: tensor<2x2x5x4x!quant.uniform<i8:f32, 0.5:-3>>, %arg1: tensor<2x2x3x2xf32>) -> tensor<2x2x3x3xf32> {
    %0 = "stablehlo.constant"() {value = dense<[[0, 0], [0, 0]]> : tensor<2x2xi64>} : () -> tensor<2x2xi64>
    %1 = "stablehlo.dynamic_conv"(%arg0, %arg1, %0) {batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<raw input_batch_dimension = 0, input_feature_dimension = 1, input_spatial_dimensions = [2, 3], kernel_input_feature_dimension = 1, kernel_output_feature_dimension = 0, kernel_spatial_dimensions = [2, 3], output_batch_dimension = 0, output_feature_dimension = 1, output_spatial_dimensions = [2, 3]>, feature_group_count = 1 : i64, lhs_dilation = array<i64: 1, 1>, precision_config = [#stablehlo<precision HIGHEST>, #stablehlo<precision HIGHEST>], rhs_dilation = array<i64: 1, 1>, window_reversal = array<i1: false, false>, window_strides = array<i64: 1, 1>} : (tensor<2x2x5x4x!quant.uniform<i8:f32, 0.5:-3>>, tensor<2x2x3x2xf32>, tensor<2x2xi64>) -> tensor<2x2x3x3xf32>
    "func.return"(%1) : (tensor<2x2x3x3xf32>) -> ()
  }
}
// -----
// stablehlo.dynamic_conv C29: is_per_axis_quantized(rhs) implies quantization_dimension(rhs) = kernel_output_feature_dimension
module {
  func.func @main(%arg0: tensor<2x2x5x4xf32>, %arg1: tensor<2x2x3x2x!quant.uniform<i8:f32:1, {0.5:-3, 0.75:-3}>>) -> tensor<2x2x3x3xf32> {
    %0 = "stablehlo.constant"() {value = dense<[[0, 0], [0, 0]]> : tensor<2x2xi64>} : () -> tensor<2x2xi64>
    %1 = "stablehlo.dynamic_conv"(%arg0, %arg1, %0) {batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<raw input_batch_dimension = 0, input_feature_dimension = 1, input_spatial_dimensions = [2, 3], kernel_input_feature_dimension = 1, kernel_output_feature_dimension = 0, kernel_spatial_dimensions = [2, 3], output_batch_dimension = 0, output_feature_dimension = 1, output_spatial_dimensions = [2, 3]>, feature_group_count = 1 : i64, lhs_dilation = array<i64: 1, 1>, precision_config = [#stablehlo<precision HIGHEST>, #stablehlo<precision HIGHEST>], rhs_dilation = array<i64: 1, 1>, window_reversal = array<i1: false, false>, window_strides = array<i64: 1, 1>} : (tensor<2x2x5x4xf32>, tensor<2x2x3x2x!quant.uniform<i8:f32:1, {0.5:-3, 0.75:-3}>>, tensor<2x2xi64>) -> tensor<2x2x3x3xf32>
    "func.return"(%1) : (tensor<2x2x3x3xf32>) -> ()
  }
}
// -----
// stablehlo.dynamic_conv C30: is_per_axis_quantized(result) implies quantization_dimension(result) = output_feature_dimension
module {
  func.func @main(%arg0: tensor<2x2x7x!quant.uniform<i8:f32, 0.5:-3>>, %arg1: tensor<2x2x3x!quant.uniform<i8:f32:0, {0.5:-3, 0.75:-3}>>) -> tensor<2x2x3x!quant.uniform<i8:f32:0, {0.5:-3, 0.75:-3}>> {
    %0 = "stablehlo.constant"() {value = dense<[[0, 0]]> : tensor<1x2xi64>} : () -> tensor<1x2xi64>
    %1 = "stablehlo.dynamic_conv"(%arg0, %arg1, %0) {batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<raw input_batch_dimension = 0, input_feature_dimension = 1, input_spatial_dimensions = [2], kernel_input_feature_dimension = 1, kernel_output_feature_dimension = 0, kernel_spatial_dimensions = [2], output_batch_dimension = 0, output_feature_dimension = 1, output_spatial_dimensions = [2]>, feature_group_count = 1 : i64, lhs_dilation = array<i64: 1>, precision_config = [#stablehlo<precision HIGHEST>, #stablehlo<precision HIGHEST>], rhs_dilation = array<i64: 1>, window_reversal = array<i1: false>, window_strides = array<i64: 2>} : (tensor<2x2x7x!quant.uniform<i8:f32, 0.5:-3>>, tensor<2x2x3x!quant.uniform<i8:f32:0, {0.5:-3, 0.75:-3}>>, tensor<1x2xi64>) -> tensor<2x2x3x!quant.uniform<i8:f32:0, {0.5:-3, 0.75:-3}>>
    "func.return"(%1) : (tensor<2x2x3x!quant.uniform<i8:f32:0, {0.5:-3, 0.75:-3}>>) -> ()
  }
}
// -----
// stablehlo.dynamic_conv C31: storage_type(lhs) = storage_type(rhs), where lhs is quantized
module {
  func.func @main(%arg0: tensor<2x2x5x4x!quant.uniform<i16:f32, 0.5:-3>>, %arg1: tensor<2x2x3x2x!quant.uniform<i8:f32, 0.5:-3>>) -> tensor<2x2x3x3x!quant.uniform<i8:f32, 0.5:-3>> {
    %0 = "stablehlo.constant"() {value = dense<[[0, 0], [0, 0]]> : tensor<2x2xi64>} : () -> tensor<2x2xi64>
    %1 = "stablehlo.dynamic_conv"(%arg0, %arg1, %0) {batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<raw input_batch_dimension = 0, input_feature_dimension = 1, input_spatial_dimensions = [2, 3], kernel_input_feature_dimension = 1, kernel_output_feature_dimension = 0, kernel_spatial_dimensions = [2, 3], output_batch_dimension = 0, output_feature_dimension = 1, output_spatial_dimensions = [2, 3]>, feature_group_count = 1 : i64, lhs_dilation = array<i64: 1, 1>, precision_config = [#stablehlo<precision HIGHEST>, #stablehlo<precision HIGHEST>], rhs_dilation = array<i64: 1, 1>, window_reversal = array<i1: false, false>, window_strides = array<i64: 1, 1>} : (tensor<2x2x5x4x!quant.uniform<i16:f32, 0.5:-3>>, tensor<2x2x3x2x!quant.uniform<i8:f32, 0.5:-3>>, tensor<2x2xi64>) -> tensor<2x2x3x3x!quant.uniform<i8:f32, 0.5:-3>>
    "func.return"(%1) : (tensor<2x2x3x3x!quant.uniform<i8:f32, 0.5:-3>>) -> ()
  }
}
// -----
// stablehlo.dynamic_conv C32: expressed_type(lhs) = expressed_type(rhs) = expressed_type(result), where lhs is quantized
module {
  func.func @main(%arg0: tensor<2x2x5x4x!quant.uniform<i8:f64, 0.5:-3>>, %arg1: tensor<2x2x3x2x!quant.uniform<i8:f32, 0.5:-3>>) -> tensor<2x2x3x3x!quant.uniform<i8:f32, 0.5:-3>> {
    %0 = "stablehlo.constant"() {value = dense<[[0, 0], [0, 0]]> : tensor<2x2xi64>} : () -> tensor<2x2xi64>
    %1 = "stablehlo.dynamic_conv"(%arg0, %arg1, %0) {batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<raw input_batch_dimension = 0, input_feature_dimension = 1, input_spatial_dimensions = [2, 3], kernel_input_feature_dimension = 1, kernel_output_feature_dimension = 0, kernel_spatial_dimensions = [2, 3], output_batch_dimension = 0, output_feature_dimension = 1, output_spatial_dimensions = [2, 3]>, feature_group_count = 1 : i64, lhs_dilation = array<i64: 1, 1>, precision_config = [#stablehlo<precision HIGHEST>, #stablehlo<precision HIGHEST>], rhs_dilation = array<i64: 1, 1>, window_reversal = array<i1: false, false>, window_strides = array<i64: 1, 1>} : (tensor<2x2x5x4x!quant.uniform<i8:f64, 0.5:-3>>, tensor<2x2x3x2x!quant.uniform<i8:f32, 0.5:-3>>, tensor<2x2xi64>) -> tensor<2x2x3x3x!quant.uniform<i8:f32, 0.5:-3>>
    "func.return"(%1) : (tensor<2x2x3x3x!quant.uniform<i8:f32, 0.5:-3>>) -> ()
  }
}
// -----
// stablehlo.dynamic_conv C33: is_per_tensor_quantized(rhs) implies is_per_tensor_quantized(result), where lhs is quantized
module {
  func.func @main(%arg0: tensor<2x2x5x4x!quant.uniform<i8:f32, 0.5:-3>>, %arg1: tensor<2x2x3x2x!quant.uniform<i8:f32, 0.5:-3>>) -> tensor<2x2x3x3x!quant.uniform<i8:f32:1, {0.5:-3, 0.75:-3}>> {
    %0 = "stablehlo.constant"() {value = dense<[[0, 0], [0, 0]]> : tensor<2x2xi64>} : () -> tensor<2x2xi64>
    %1 = "stablehlo.dynamic_conv"(%arg0, %arg1, %0) {batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<raw input_batch_dimension = 0, input_feature_dimension = 1, input_spatial_dimensions = [2, 3], kernel_input_feature_dimension = 1, kernel_output_feature_dimension = 0, kernel_spatial_dimensions = [2, 3], output_batch_dimension = 0, output_feature_dimension = 1, output_spatial_dimensions = [2, 3]>, feature_group_count = 1 : i64, lhs_dilation = array<i64: 1, 1>, precision_config = [#stablehlo<precision HIGHEST>, #stablehlo<precision HIGHEST>], rhs_dilation = array<i64: 1, 1>, window_reversal = array<i1: false, false>, window_strides = array<i64: 1, 1>} : (tensor<2x2x5x4x!quant.uniform<i8:f32, 0.5:-3>>, tensor<2x2x3x2x!quant.uniform<i8:f32, 0.5:-3>>, tensor<2x2xi64>) -> tensor<2x2x3x3x!quant.uniform<i8:f32:1, {0.5:-3, 0.75:-3}>>
    "func.return"(%1) : (tensor<2x2x3x3x!quant.uniform<i8:f32:1, {0.5:-3, 0.75:-3}>>) -> ()
  }
}
// -----
// stablehlo.dynamic_conv C34: element_type(lhs) = expressed_type(rhs) = element_type(result), where lhs is not quantized
module {
  func.func @main(%arg0: tensor<2x2x5x4xf32>, %arg1: tensor<2x2x3x2x!quant.uniform<i8:f64, 0.5:-3>>) -> tensor<2x2x3x3xf32> {
    %0 = "stablehlo.constant"() {value = dense<[[0, 0], [0, 0]]> : tensor<2x2xi64>} : () -> tensor<2x2xi64>
    %1 = "stablehlo.dynamic_conv"(%arg0, %arg1, %0) {batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<raw input_batch_dimension = 0, input_feature_dimension = 1, input_spatial_dimensions = [2, 3], kernel_input_feature_dimension = 1, kernel_output_feature_dimension = 0, kernel_spatial_dimensions = [2, 3], output_batch_dimension = 0, output_feature_dimension = 1, output_spatial_dimensions = [2, 3]>, feature_group_count = 1 : i64, lhs_dilation = array<i64: 1, 1>, precision_config = [#stablehlo<precision HIGHEST>, #stablehlo<precision HIGHEST>], rhs_dilation = array<i64: 1, 1>, window_reversal = array<i1: false, false>, window_strides = array<i64: 1, 1>} : (tensor<2x2x5x4xf32>, tensor<2x2x3x2x!quant.uniform<i8:f64, 0.5:-3>>, tensor<2x2xi64>) -> tensor<2x2x3x3xf32>
    "func.return"(%1) : (tensor<2x2x3x3xf32>) -> ()
  }
}
// -----
// stablehlo.fft C1: size(fft_length) <= rank(operand)
module {
  func.func @main(%arg0: tensor<8xcomplex<f32>>) -> tensor<8xcomplex<f32>> {
    %0 = "stablehlo.fft"(%arg0) {fft_length = array<i64: 8, 8>, fft_type = #stablehlo<fft_type FFT>} : (tensor<8xcomplex<f32>>) -> tensor<8xcomplex<f32>>
    "func.return"(%0) : (tensor<8xcomplex<f32>>) -> ()
  }
}
// -----
// stablehlo.fft C2: element types: FFT, IFFT: the same complex type; RFFT: real to complex; IRFFT: complex to real
module {
  func.func @main(%arg0: tensor<8xf32>) -> tensor<8xf32> {
    %0 = "stablehlo.fft"(%arg0) {fft_length = array<i64: 8>, fft_type = #stablehlo<fft_type FFT>} : (tensor<8xf32>) -> tensor<8xf32>
    "func.return"(%0) : (tensor<8xf32>) -> ()
  }
}
// -----
// stablehlo.fft C3: 1 <= size(fft_length) <= 3
module {
  func.func @main(%arg0: tensor<8xcomplex<f32>>) -> tensor<8xcomplex<f32>> {
    %0 = "stablehlo.fft"(%arg0) {fft_length = array<i64>, fft_type = #stablehlo<fft_type FFT>} : (tensor<8xcomplex<f32>>) -> tensor<8xcomplex<f32>>
    "func.return"(%0) : (tensor<8xcomplex<f32>>) -> ()
  }
}
// -----
// stablehlo.fft C4: shape(real)[-size(fft_length):] = fft_length for the real one of operand and result
module {
  func.func @main(%arg0: tensor<8xf32>) -> tensor<5xcomplex<f32>> {
    %0 = "stablehlo.fft"(%arg0) {fft_length = array<i64: 9>, fft_type = #stablehlo<fft_type RFFT>} : (tensor<8xf32>) -> tensor<5xcomplex<f32>>
    "func.return"(%0) : (tensor<5xcomplex<f32>>) -> ()
  }
}
// -----
// stablehlo.fft C5: shape(result) = shape(operand), but dim(complex, -1) = (n = dim(real, -1)) = 0 ? 0 : n / 2 + 1
module {
  func.func @main(%arg0: tensor<2x8xf32>) -> tensor<5xcomplex<f32>> {
    %0 = "stablehlo.fft"(%arg0) {fft_length = array<i64: 8>, fft_type = #stablehlo<fft_type RFFT>} : (tensor<2x8xf32>) -> tensor<5xcomplex<f32>>
    "func.return"(%0) : (tensor<5xcomplex<f32>>) -> ()
  }
}
// -----
// stablehlo.cholesky C1: baseline_type(a) = baseline_type(result)
module {
  func.func @main(%arg0: tensor<3x3xf64>) -> tensor<3x3xf32> {
    %0 = "stablehlo.cholesky"(%arg0) {lower = true} : (tensor<3x3xf64>) -> tensor<3x3xf32>
    "func.return"(%0) : (tensor<3x3xf32>) -> ()
  }
}
// -----
// stablehlo.cholesky C2, with others: 2 <= rank(a)
module {
  func.func @main(%arg0: tensor<3xf32>) -> tensor<3xf32> {
    %0 = "stablehlo.cholesky"(%arg0) {lower = true} : (tensor<3xf32>) -> tensor<3xf32>
    "func.return"(%0) : (tensor<3xf32>) -> ()
  }
}
// -----
// stablehlo.cholesky C3: dim(a, -2) = dim(a, -1)
module {
  func.func @main(%arg0: tensor<4x3xf32>) -> tensor<4x3xf32> {
    %0 = "stablehlo.cholesky"(%arg0) {lower = true} : (tensor<4x3xf32>) -> tensor<4x3xf32>
    "func.return"(%0) : (tensor<4x3xf32>) -> ()
  }
}
// -----
// stablehlo.triangular_solve I6: transpose_a is one of NO_TRANSPOSE, TRANSPOSE, ADJOINT
module {
  func.func @main(%arg0: tensor<2x3x3xf32>, %arg1: tensor<2x3x2xf32>) -> tensor<2x3x2xf32> {
    %0 = "stablehlo.triangular_solve"(%arg0, %arg1) {left_side = true, lower = true, transpose_a = #stablehlo<transpose TRANSPOSE_INVALID>, unit_diagonal = true} : (tensor<2x3x3xf32>, tensor<2x3x2xf32>) -> tensor<2x3x2xf32>
    "func.return"(%0) : (tensor<2x3x2xf32>) -> ()
  }
}
// -----
// stablehlo.triangular_solve C1: baseline_element_type(a) = baseline_element_type(b)
module {
  func.func @main(%arg0: tensor<2x3x3xf64>, %arg1: tensor<2x3x2xf32>) -> tensor<2x3x2xf32> {
    %0 = "stablehlo.triangular_solve"(%arg0, %arg1) {left_side = true, lower = true, transpose_a = #stablehlo<transpose NO_TRANSPOSE>, unit_diagonal = true} : (tensor<2x3x3xf64>, tensor<2x3x2xf32>) -> tensor<2x3x2xf32>
    "func.return"(%0) : (tensor<2x3x2xf32>) -> ()
  }
}
// -----
// stablehlo.triangular_solve C2, with others: 2 <= rank(a) = rank(b) = R
module {
  func.func @main(%arg0: tensor<2x3x3x1xf32>, %arg1: tensor<2x3x2xf32>) -> tensor<2x3x2xf32> {
    %0 = "stablehlo.triangular_solve"(%arg0, %arg1) {left_side = true, lower = true, transpose_a = #stablehlo<transpose NO_TRANSPOSE>, unit_diagonal = true} : (tensor<2x3x3x1xf32>, tensor<2x3x2xf32>) -> tensor<2x3x2xf32>
    "func.return"(%0) : (tensor<2x3x2xf32>) -> ()
  }
}
// -----
// stablehlo.triangular_solve C3: the batch dimensions of a and b agree; dim(a, -2) = dim(a, -1) = dim(b, left_side ? -2 : -1)
module {
  func.func @main(%arg0: tensor<2x3x3xf32>, %arg1: tensor<2x3x2xf32>) -> tensor<2x3x2xf32> {
    %0 = "stablehlo.triangular_solve"(%arg0, %arg1) {left_side = false, lower = true, transpose_a = #stablehlo<transpose NO_TRANSPOSE>, unit_diagonal = true} : (tensor<2x3x3xf32>, tensor<2x3x2xf32>) -> tensor<2x3x2xf32>
    "func.return"(%0) : (tensor<2x3x2xf32>) -> ()
  }
}
// -----
// stablehlo.triangular_solve C4: baseline_type(b) = baseline_type(result)
module {
  func.func @main(%arg0: tensor<2x3x3xf32>, %arg1: tensor<2x3x3xf32>) -> tensor<2x3x2xf32> {
    %0 = "stablehlo.triangular_solve"(%arg0, %arg1) {left_side = true, lower = true, transpose_a = #stablehlo<transpose NO_TRANSPOSE>, unit_diagonal = true} : (tensor<2x3x3xf32>, tensor<2x3x3xf32>) -> tensor<2x3x2xf32>
    "func.return"(%0) : (tensor<2x3x2xf32>) -> ()
  }
}
// -----
// stablehlo.rng_bit_generator I2: initial_state is a 1-dimensional tensor of type ui64
module {
  func.func @main(%arg0: tensor<2xui8>) -> (tensor<2xui8>, tensor<f32>) {
    %0:2 = "stablehlo.rng_bit_generator"(%arg0) {rng_algorithm = #stablehlo<rng_algorithm DEFAULT>} : (tensor<2xui8>) -> (tensor<2xui8>, tensor<f32>)
    "func.return"(%0#0, %0#1) : (tensor<2xui8>, tensor<f32>) -> ()
  }
}
// -----
// stablehlo.rng_bit_generator C1: type(output_state) = type(initial_state)
module {
  func.func @main(%arg0: tensor<3xui64>) -> (tensor<2xui64>, tensor<f32>) {
    %0:2 = "stablehlo.rng_bit_generator"(%arg0) {rng_algorithm = #stablehlo<rng_algorithm DEFAULT>} : (tensor<3xui64>) -> (tensor<2xui64>, tensor<f32>)
    "func.return"(%0#0, %0#1) : (tensor<2xui64>, tensor<f32>) -> ()
  }
}
// -----
// stablehlo.rng_bit_generator C2: size(initial_state) is 2 for THREE_FRY, 2 or 3 for PHILOX and DEFAULT
module {
  func.func @main(%arg0: tensor<1xui64>) -> (tensor<1xui64>, tensor<f32>) {
    %0:2 = "stablehlo.rng_bit_generator"(%arg0) {rng_algorithm = #stablehlo<rng_algorithm DEFAULT>} : (tensor<1xui64>) -> (tensor<1xui64>, tensor<f32>)
    "func.return"(%0#0, %0#1) : (tensor<1xui64>, tensor<f32>) -> ()
  }
}
// -----
// stablehlo.rng C1: element_type(a) = element_type(b) = element_type(result)
module {
  func.func @main(%arg0: tensor<f64>, %arg1: tensor<f32>) -> tensor<0xf32> {
    %0 = "stablehlo.constant"() {value = dense<[0]> : tensor<1xi64>} : () -> tensor<1xi64>
    %1 = "stablehlo.rng"(%arg0, %arg1, %0) {rng_distribution = #stablehlo<rng_distribution UNIFORM>} : (tensor<f64>, tensor<f32>, tensor<1xi64>) -> tensor<0xf32>
    "func.return"(%1) : (tensor<0xf32>) -> ()
  }
}
// -----
// stablehlo.rng C2: if rng_distribution = NORMAL, then is_float(a)
module {
  func.func @main(%arg0: tensor<i32>, %arg1: tensor<i32>) -> tensor<0xi32> {
    %0 = "stablehlo.constant"() {value = dense<[0]> : tensor<1xi64>} : () -> tensor<1xi64>
    %1 = "stablehlo.rng"(%arg0, %arg1, %0) {rng_distribution = #stablehlo<rng_distribution NORMAL>} : (tensor<i32>, tensor<i32>, tensor<1xi64>) -> tensor<0xi32>
    "func.return"(%1) : (tensor<0xi32>) -> ()
  }
}
// -----
// stablehlo.rng C3: size(shape) = rank(result), and shape is the shape of result
module {
  func.func @main(%arg0: tensor<f32>, %arg1: tensor<f32>) -> tensor<0xf32> {
    %0 = "stablehlo.constant"() {value = dense<[1]> : tensor<1xi64>} : () -> tensor<1xi64>
    %1 = "stablehlo.rng"(%arg0, %arg1, %0) {rng_distribution = #stablehlo<rng_distribution UNIFORM>} : (tensor<f32>, tensor<f32>, tensor<1xi64>) -> tensor<0xf32>
    "func.return"(%1) : (tensor<0xf32>) -> ()
  }
}
// -----
// stablehlo.while C1: cond has type (T0, ..., TN-1) -> tensor<i1>, where Ti = type(operand[i])
module {
  func.func @main(%arg0: tensor<i32>, %arg1: tensor<f32>) -> (tensor<i32>, tensor<f32>) {
    %0:2 = "stablehlo.while"(%arg0, %arg1) ({
    ^bb0(%arg2: tensor<i32>, %arg3: tensor<f64>):
      %1 = "stablehlo.constant"() {value = dense<0> : tensor<i32>} : () -> tensor<i32>
      %2 = "stablehlo.compare"(%arg2, %1) {comparison_direction = #stablehlo<comparison_direction LT>} : (tensor<i32>, tensor<i32>) -> tensor<i1>
      "stablehlo.return"(%2) : (tensor<i1>) -> ()
    }, {
    ^bb0(%arg4: tensor<i32>, %arg5: tensor<f32>):
      %3 = "stablehlo.constant"() {value = dense<1> : tensor<i32>} : () -> tensor<i32>
      %4 = "stablehlo.add"(%arg4, %3) : (tensor<i32>, tensor<i32>) -> tensor<i32>
      %5 = "stablehlo.add"(%arg5, %arg5) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%4, %5) : (tensor<i32>, tensor<f32>) -> ()
    }) : (tensor<i32>, tensor<f32>) -> (tensor<i32>, tensor<f32>)
    "func.return"(%0#0, %0#1) : (tensor<i32>, tensor<f32>) -> ()
  }
}
// -----
// stablehlo.while C2: body has type (T0, ..., TN-1) -> (T0, ..., TN-1), where Ti = type(operand[i])
module {
  func.func @main(%arg0: tensor<i32>, %arg1: tensor<f32>) -> (tensor<i32>, tensor<f32>) {
    %0:2 = "stablehlo.while"(%arg0, %arg1) ({
    ^bb0(%arg2: tensor<i32>, %arg3: tensor<f32>):
      %1 = "stablehlo.constant"() {value = dense<0> : tensor<i32>} : () -> tensor<i32>
      %2 = "stablehlo.compare"(%arg2, %1) {comparison_direction = #stablehlo<comparison_direction LT>} : (tensor<i32>, tensor<i32>) -> tensor<i1>
      "stablehlo.return"(%2) : (tensor<i1>) -> ()
    }, {
    ^bb0(%arg4: tensor<i32>, %arg5: tensor<f64>):
      %3 = "stablehlo.constant"() {value = dense<1> : tensor<i32>} : () -> tensor<i32>
      %4 = "stablehlo.add"(%arg4, %3) : (tensor<i32>, tensor<i32>) -> tensor<i32>
      %5 = "stablehlo.add"(%arg5, %arg5) : (tensor<f64>, tensor<f64>) -> tensor<f64>
      "stablehlo.return"(%4, %5) : (tensor<i32>, tensor<f64>) -> ()
    }) : (tensor<i32>, tensor<f32>) -> (tensor<i32>, tensor<f32>)
    "func.return"(%0#0, %0#1) : (tensor<i32>, tensor<f32>) -> ()
  }
}
// -----
// stablehlo.while C3: type(results...) = type(operand...)
module {
  func.func @main(%arg0: tensor<i32>, %arg1: tensor<f32>) -> (tensor<f32>, tensor<f32>) {
    %0:2 = "stablehlo.while"(%arg0, %arg1) ({
    ^bb0(%arg2: tensor<i32>, %arg3: tensor<f32>):
      %1 = "stablehlo.constant"() {value = dense<0> : tensor<i32>} : () -> tensor<i32>
      %2 = "stablehlo.compare"(%arg2, %1) {comparison_direction = #stablehlo<comparison_direction LT>} : (tensor<i32>, tensor<i32>) -> tensor<i1>
      "stablehlo.return"(%2) : (tensor<i1>) -> ()
    }, {
    ^bb0(%arg4: tensor<i32>, %arg5: tensor<f32>):
      %3 = "stablehlo.constant"() {value = dense<1> : tensor<i32>} : () -> tensor<i32>
      %4 = "stablehlo.add"(%arg4, %3) : (tensor<i32>, tensor<i32>) -> tensor<i32>
      %5 = "stablehlo.add"(%arg5, %arg5) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%4, %5) : (tensor<i32>, tensor<f32>) -> ()
    }) : (tensor<i32>, tensor<f32>) -> (tensor<f32>, tensor<f32>)
    "func.return"(%0#0, %0#1) : (tensor<f32>, tensor<f32>) -> ()
  }
}
// -----
// stablehlo.if C1: input_types(true_branch) = input_types(false_branch) = []
module {
  func.func @main(%arg0: tensor<i1>) -> (tensor<f32>, tensor<i32>) {
    %0:2 = "stablehlo.if"(%arg0) ({
    ^bb0(%arg1: tensor<i32>):
      %1 = "stablehlo.constant"() {value = dense<1.0> : tensor<f32>} : () -> tensor<f32>
      %2 = "stablehlo.constant"() {value = dense<1> : tensor<i32>} : () -> tensor<i32>
      "stablehlo.return"(%1, %2) : (tensor<f32>, tensor<i32>) -> ()
    }, {
      %3 = "stablehlo.constant"() {value = dense<0.0> : tensor<f32>} : () -> tensor<f32>
      %4 = "stablehlo.constant"() {value = dense<0> : tensor<i32>} : () -> tensor<i32>
      "stablehlo.return"(%3, %4) : (tensor<f32>, tensor<i32>) -> ()
    }) : (tensor<i1>) -> (tensor<f32>, tensor<i32>)
    "func.return"(%0#0, %0#1) : (tensor<f32>, tensor<i32>) -> ()
  }
}
// -----
// stablehlo.if C2: output_types(true_branch) = output_types(false_branch)
module {
  func.func @main(%arg0: tensor<i1>) -> (tensor<f32>, tensor<i32>) {
    %0:2 = "stablehlo.if"(%arg0) ({
      %1 = "stablehlo.constant"() {value = dense<1.0> : tensor<f32>} : () -> tensor<f32>
      %2 = "stablehlo.constant"() {value = dense<1> : tensor<i32>} : () -> tensor<i32>
      "stablehlo.return"(%1, %2) : (tensor<f32>, tensor<i32>) -> ()
    }, {
      %3 = "stablehlo.constant"() {value = dense<0.0> : tensor<f32>} : () -> tensor<f32>
      %4 = "stablehlo.constant"() {value = dense<0> : tensor<i32>} : () -> tensor<i32>
      "stablehlo.return"(%3) : (tensor<f32>) -> ()
    }) : (tensor<i1>) -> (tensor<f32>, tensor<i32>)
    "func.return"(%0#0, %0#1) : (tensor<f32>, tensor<i32>) -> ()
  }
}
// -----
// stablehlo.if C3: type(results...) = output_types(true_branch)
module {
  func.func @main(%arg0: tensor<i1>) -> (tensor<f64>, tensor<i32>) {
    %0:2 = "stablehlo.if"(%arg0) ({
      %1 = "stablehlo.constant"() {value = dense<1.0> : tensor<f32>} : () -> tensor<f32>
      %2 = "stablehlo.constant"() {value = dense<1> : tensor<i32>} : () -> tensor<i32>
      "stablehlo.return"(%1, %2) : (tensor<f32>, tensor<i32>) -> ()
    }, {
      %3 = "stablehlo.constant"() {value = dense<0.0> : tensor<f32>} : () -> tensor<f32>
      %4 = "stablehlo.constant"() {value = dense<0> : tensor<i32>} : () -> tensor<i32>
      "stablehlo.return"(%3, %4) : (tensor<f32>, tensor<i32>) -> ()
    }) : (tensor<i1>) -> (tensor<f64>, tensor<i32>)
    "func.return"(%0#0, %0#1) : (tensor<f64>, tensor<i32>) -> ()
  }
}
// -----
// stablehlo.case I1: index is a 0-dimensional tensor of type i32
module {
  func.func @main(%arg0: tensor<i64>) -> (tensor<2xf32>, tensor<i32>) {
    %0:2 = "stablehlo.case"(%arg0) ({
      %1 = "stablehlo.constant"() {value = dense<[0.0, 0.0]> : tensor<2xf32>} : () -> tensor<2xf32>
      %2 = "stablehlo.constant"() {value = dense<0> : tensor<i32>} : () -> tensor<i32>
      "stablehlo.return"(%1, %2) : (tensor<2xf32>, tensor<i32>) -> ()
    }) : (tensor<i64>) -> (tensor<2xf32>, tensor<i32>)
    "func.return"(%0#0, %0#1) : (tensor<2xf32>, tensor<i32>) -> ()
  }
}
// -----
// stablehlo.case C1, with others: 0 < size(branches)
module {
  func.func @main(%arg0: tensor<i32>) -> (tensor<2xf32>, tensor<i32>) {
    %0:2 = "stablehlo.case"(%arg0) : (tensor<i32>) -> (tensor<2xf32>, tensor<i32>)
    "func.return"(%0#0, %0#1) : (tensor<2xf32>, tensor<i32>) -> ()
  }
}
// -----
// stablehlo.case C2: input_types(branches...) = []
module {
  func.func @main(%arg0: tensor<i32>) -> (tensor<2xf32>, tensor<i32>) {
    %0:2 = "stablehlo.case"(%arg0) ({
    ^bb0(%arg1: tensor<i32>):
      %1 = "stablehlo.constant"() {value = dense<[0.0, 0.0]> : tensor<2xf32>} : () -> tensor<2xf32>
      %2 = "stablehlo.constant"() {value = dense<0> : tensor<i32>} : () -> tensor<i32>
      "stablehlo.return"(%1, %2) : (tensor<2xf32>, tensor<i32>) -> ()
    }) : (tensor<i32>) -> (tensor<2xf32>, tensor<i32>)
    "func.return"(%0#0, %0#1) : (tensor<2xf32>, tensor<i32>) -> ()
  }
}
// -----
// stablehlo.case C3: same(output_types(branches...))
module {
  func.func @main(%arg0: tensor<i32>) -> (tensor<2xf32>, tensor<i32>) {
    %0:2 = "stablehlo.case"(%arg0) ({
      %1 = "stablehlo.constant"() {value = dense<[0.0, 0.0]> : tensor<2xf32>} : () -> tensor<2xf32>
      %2 = "stablehlo.constant"() {value = dense<0> : tensor<i32>} : () -> tensor<i32>
      "stablehlo.return"(%1, %2) : (tensor<2xf32>, tensor<i32>) -> ()
    }, {
      %3 = "stablehlo.constant"() {value = dense<[1.0, 1.0]> : tensor<2xf32>} : () -> tensor<2xf32>
      %4 = "stablehlo.constant"() {value = dense<1> : tensor<i32>} : () -> tensor<i32>
      "stablehlo.return"(%3) : (tensor<2xf32>) -> ()
    }, {
      %5 = "stablehlo.constant"() {value = dense<[0.0, 0.0]> : tensor<2xf32>} : () -> tensor<2xf32>
      %6 = "stablehlo.constant"() {value = dense<2> : tensor<i32>} : () -> tensor<i32>
      "stablehlo.return"(%5, %6) : (tensor<2xf32>, tensor<i32>) -> ()
    }) : (tensor<i32>) -> (tensor<2xf32>, tensor<i32>)
    "func.return"(%0#0, %0#1) : (tensor<2xf32>, tensor<i32>) -> ()
  }
}
// -----
// stablehlo.case C4: type(results...) = output_types(branches[0])
module {
  func.func @main(%arg0: tensor<i32>) -> (tensor<2xf64>, tensor<i32>) {
    %0:2 = "stablehlo.case"(%arg0) ({
      %1 = "stablehlo.constant"() {value = dense<[0.0, 0.0]> : tensor<2xf32>} : () -> tensor<2xf32>
      %2 = "stablehlo.constant"() {value = dense<0> : tensor<i32>} : () -> tensor<i32>
      "stablehlo.return"(%1, %2) : (tensor<2xf32>, tensor<i32>) -> ()
    }) : (tensor<i32>) -> (tensor<2xf64>, tensor<i32>)
    "func.return"(%0#0, %0#1) : (tensor<2xf64>, tensor<i32>) -> ()
  }
}
// -----
// stablehlo.optimization_barrier C1: type(operand...) = type(result...)
module {
  func.func @main(%arg0: tensor<1x1xf64>, %arg1: tensor<5xf32>, %arg2: tensor<2x3x1x2x1x2xf32>) -> (tensor<1x1xf32>, tensor<5xf32>, tensor<2x3x1x2x1x2xf32>) {
    %0:3 = "stablehlo.optimization_barrier"(%arg0, %arg1, %arg2) : (tensor<1x1xf64>, tensor<5xf32>, tensor<2x3x1x2x1x2xf32>) -> (tensor<1x1xf32>, tensor<5xf32>, tensor<2x3x1x2x1x2xf32>)
    "func.return"(%0#0, %0#1, %0#2) : (tensor<1x1xf32>, tensor<5xf32>, tensor<2x3x1x2x1x2xf32>) -> ()
  }
}
// -----
// stablehlo.tuple C1: result has type tuple<E0, ..., EN-1> where Ei = type(val[i])
module {
  func.func @main(%arg0: tensor<3xf64>, %arg1: tensor<2x0xi32>) -> (tensor<3xf32>, tensor<2x0xi32>) {
    %0 = "stablehlo.tuple"(%arg0, %arg1) : (tensor<3xf64>, tensor<2x0xi32>) -> tuple<tensor<3xf32>, tensor<2x0xi32>>
    %1 = "stablehlo.get_tuple_element"(%0) {index = 0 : i32} : (tuple<tensor<3xf32>, tensor<2x0xi32>>) -> tensor<3xf32>
    %2 = "stablehlo.get_tuple_element"(%0) {index = 1 : i32} : (tuple<tensor<3xf32>, tensor<2x0xi32>>) -> tensor<2x0xi32>
    "func.return"(%1, %2) : (tensor<3xf32>, tensor<2x0xi32>) -> ()
  }
}
// -----
// stablehlo.get_tuple_element C1: 0 <= index < size(operand)
module {
  func.func @main(%arg0: tensor<3xf32>, %arg1: tensor<2xi32>, %arg2: tensor<1xf32>) -> tensor<1xf32> {
    %0 = "stablehlo.tuple"(%arg2) : (tensor<1xf32>) -> tuple<tensor<1xf32>>
    %1 = "stablehlo.tuple"(%arg0, %arg1, %0) : (tensor<3xf32>, tensor<2xi32>, tuple<tensor<1xf32>>) -> tuple<tensor<3xf32>, tensor<2xi32>, tuple<tensor<1xf32>>>
    %2 = "stablehlo.get_tuple_element"(%1) {index = -1 : i32} : (tuple<tensor<3xf32>, tensor<2xi32>, tuple<tensor<1xf32>>>) -> tuple<tensor<1xf32>>
    %3 = "stablehlo.get_tuple_element"(%2) {index = 0 : i32} : (tuple<tensor<1xf32>>) -> tensor<1xf32>
    "func.return"(%3) : (tensor<1xf32>) -> ()
  }
}
// -----
// stablehlo.get_tuple_element C2: type(result) = tuple_element_types(operand)[index]
module {
  func.func @main(%arg0: tensor<3xf32>, %arg1: tensor<2xi32>, %arg2: tensor<1xf32>) -> tensor<3xf32> {
    %0 = "stablehlo.tuple"(%arg2) : (tensor<1xf32>) -> tuple<tensor<1xf32>>
    %1 = "stablehlo.tuple"(%arg0, %arg1, %0) : (tensor<3xf32>, tensor<2xi32>, tuple<tensor<1xf32>>) -> tuple<tensor<3xf32>, tensor<2xi32>, tuple<tensor<1xf32>>>
    %2 = "stablehlo.get_tuple_element"(%1) {index = 1 : i32} : (tuple<tensor<3xf32>, tensor<2xi32>, tuple<tensor<1xf32>>>) -> tensor<3xf32>
    "func.return"(%2) : (tensor<3xf32>) -> ()
  }
}
// -----
// stablehlo.batch_norm_inference C1: 0 <= feature_index < rank(operand)
module {
  func.func @main(%arg0: tensor<4x3xf32>, %arg1: tensor<3xf32>, %arg2: tensor<3xf32>, %arg3: tensor<3xf32>, %arg4: tensor<3xf32>) -> tensor<4x3xf32> {
    %0 = "stablehlo.batch_norm_inference"(%arg0, %arg1, %arg2, %arg3, %arg4) {epsilon = 0.5 : f32, feature_index = -1 : i64} : (tensor<4x3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<4x3xf32>
    "func.return"(%0) : (tensor<4x3xf32>) -> ()
  }
}
// -----
// stablehlo.batch_norm_inference C2: baseline_element_type(operand) = baseline_element_type(scale) = baseline_element_type(offset) = baseline_element_type(mean) = baseline_element_type(variance) = baseline_element_type(result)
module {
  func.func @main(%arg0: tensor<4x3xf64>, %arg1: tensor<3xf32>, %arg2: tensor<3xf32>, %arg3: tensor<3xf32>, %arg4: tensor<3xf32>) -> tensor<4x3xf64> {
    %0 = "stablehlo.batch_norm_inference"(%arg0, %arg1, %arg2, %arg3, %arg4) {epsilon = 0.5 : f32, feature_index = 1 : i64} : (tensor<4x3xf64>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<4x3xf64>
    "func.return"(%0) : (tensor<4x3xf64>) -> ()
  }
}
// -----
// stablehlo.batch_norm_inference C3: size(scale) = dim(operand, feature_index)
module {
  func.func @main(%arg0: tensor<4x3xf32>, %arg1: tensor<4xf32>, %arg2: tensor<3xf32>, %arg3: tensor<3xf32>, %arg4: tensor<3xf32>) -> tensor<4x3xf32> {
    %0 = "stablehlo.batch_norm_inference"(%arg0, %arg1, %arg2, %arg3, %arg4) {epsilon = 0.5 : f32, feature_index = 1 : i64} : (tensor<4x3xf32>, tensor<4xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<4x3xf32>
    "func.return"(%0) : (tensor<4x3xf32>) -> ()
  }
}
// -----
// stablehlo.batch_norm_inference C4: size(offset) = dim(operand, feature_index)
module {
  func.func @main(%arg0: tensor<4x3xf32>, %arg1: tensor<3xf32>, %arg2: tensor<4xf32>, %arg3: tensor<3xf32>, %arg4: tensor<3xf32>) -> tensor<4x3xf32> {
    %0 = "stablehlo.batch_norm_inference"(%arg0, %arg1, %arg2, %arg3, %arg4) {epsilon = 0.5 : f32, feature_index = 1 : i64} : (tensor<4x3xf32>, tensor<3xf32>, tensor<4xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<4x3xf32>
    "func.return"(%0) : (tensor<4x3xf32>) -> ()
  }
}
// -----
// stablehlo.batch_norm_inference C5: size(mean) = dim(operand, feature_index)
module {
  func.func @main(%arg0: tensor<4x3xf32>, %arg1: tensor<3xf32>, %arg2: tensor<3xf32>, %arg3: tensor<4xf32>, %arg4: tensor<3xf32>) -> tensor<4x3xf32> {
    %0 = "stablehlo.batch_norm_inference"(%arg0, %arg1, %arg2, %arg3, %arg4) {epsilon = 0.5 : f32, feature_index = 1 : i64} : (tensor<4x3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<4xf32>, tensor<3xf32>) -> tensor<4x3xf32>
    "func.return"(%0) : (tensor<4x3xf32>) -> ()
  }
}
// -----
// stablehlo.batch_norm_inference C6: size(variance) = dim(operand, feature_index)
module {
  func.func @main(%arg0: tensor<4x3xf32>, %arg1: tensor<3xf32>, %arg2: tensor<3xf32>, %arg3: tensor<3xf32>, %arg4: tensor<4xf32>) -> tensor<4x3xf32> {
    %0 = "stablehlo.batch_norm_inference"(%arg0, %arg1, %arg2, %arg3, %arg4) {epsilon = 0.5 : f32, feature_index = 1 : i64} : (tensor<4x3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<4xf32>) -> tensor<4x3xf32>
    "func.return"(%0) : (tensor<4x3xf32>) -> ()
  }
}
// -----
// stablehlo.batch_norm_inference C7: baseline_type(operand) = baseline_type(result)
module {
  func.func @main(%arg0: tensor<5x3xf32>, %arg1: tensor<3xf32>, %arg2: tensor<3xf32>, %arg3: tensor<3xf32>, %arg4: tensor<3xf32>) -> tensor<4x3xf32> {
    %0 = "stablehlo.batch_norm_inference"(%arg0, %arg1, %arg2, %arg3, %arg4) {epsilon = 0.5 : f32, feature_index = 1 : i64} : (tensor<5x3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<4x3xf32>
    "func.return"(%0) : (tensor<4x3xf32>) -> ()
  }
}
// -----
// stablehlo.batch_norm_training C1: 0 <= feature_index < rank(operand)
module {
  func.func @main(%arg0: tensor<4x3xf32>, %arg1: tensor<3xf32>, %arg2: tensor<3xf32>) -> (tensor<4x3xf32>, tensor<3xf32>, tensor<3xf32>) {
    %0:3 = "stablehlo.batch_norm_training"(%arg0, %arg1, %arg2) {epsilon = 0.5 : f32, feature_index = -1 : i64} : (tensor<4x3xf32>, tensor<3xf32>, tensor<3xf32>) -> (tensor<4x3xf32>, tensor<3xf32>, tensor<3xf32>)
    "func.return"(%0#0, %0#1, %0#2) : (tensor<4x3xf32>, tensor<3xf32>, tensor<3xf32>) -> ()
  }
}
// -----
// stablehlo.batch_norm_training C2: baseline_element_type(operand) = baseline_element_type(scale) = baseline_element_type(offset) = baseline_element_type(batch_mean) = baseline_element_type(batch_var) = baseline_element_type(output)
module {
  func.func @main(%arg0: tensor<4x3xf32>, %arg1: tensor<3xf64>, %arg2: tensor<3xf32>) -> (tensor<4x3xf32>, tensor<3xf32>, tensor<3xf32>) {
    %0:3 = "stablehlo.batch_norm_training"(%arg0, %arg1, %arg2) {epsilon = 0.5 : f32, feature_index = 1 : i64} : (tensor<4x3xf32>, tensor<3xf64>, tensor<3xf32>) -> (tensor<4x3xf32>, tensor<3xf32>, tensor<3xf32>)
    "func.return"(%0#0, %0#1, %0#2) : (tensor<4x3xf32>, tensor<3xf32>, tensor<3xf32>) -> ()
  }
}
// -----
// stablehlo.batch_norm_training C3: size(scale) = dim(operand, feature_index)
module {
  func.func @main(%arg0: tensor<4x3xf32>, %arg1: tensor<4xf32>, %arg2: tensor<3xf32>) -> (tensor<4x3xf32>, tensor<3xf32>, tensor<3xf32>) {
    %0:3 = "stablehlo.batch_norm_training"(%arg0, %arg1, %arg2) {epsilon = 0.5 : f32, feature_index = 1 : i64} : (tensor<4x3xf32>, tensor<4xf32>, tensor<3xf32>) -> (tensor<4x3xf32>, tensor<3xf32>, tensor<3xf32>)
    "func.return"(%0#0, %0#1, %0#2) : (tensor<4x3xf32>, tensor<3xf32>, tensor<3xf32>) -> ()
  }
}
// -----
// stablehlo.batch_norm_training C4: size(offset) = dim(operand, feature_index)
module {
  func.func @main(%arg0: tensor<4x3xf32>, %arg1: tensor<3xf32>, %arg2: tensor<4xf32>) -> (tensor<4x3xf32>, tensor<3xf32>, tensor<3xf32>) {
    %0:3 = "stablehlo.batch_norm_training"(%arg0, %arg1, %arg2) {epsilon = 0.5 : f32, feature_index = 1 : i64} : (tensor<4x3xf32>, tensor<3xf32>, tensor<4xf32>) -> (tensor<4x3xf32>, tensor<3xf32>, tensor<3xf32>)
    "func.return"(%0#0, %0#1, %0#2) : (tensor<4x3xf32>, tensor<3xf32>, tensor<3xf32>) -> ()
  }
}
// -----
// stablehlo.batch_norm_training C5: size(batch_mean) = dim(operand, feature_index)
module {
  func.func @main(%arg0: tensor<4x3xf32>, %arg1: tensor<3xf32>, %arg2: tensor<3xf32>) -> (tensor<4x3xf32>, tensor<4xf32>, tensor<3xf32>) {
    %0:3 = "stablehlo.batch_norm_training"(%arg0, %arg1, %arg2) {epsilon = 0.5 : f32, feature_index = 1 : i64} : (tensor<4x3xf32>, tensor<3xf32>, tensor<3xf32>) -> (tensor<4x3xf32>, tensor<4xf32>, tensor<3xf32>)
    "func.return"(%0#0, %0#1, %0#2) : (tensor<4x3xf32>, tensor<4xf32>, tensor<3xf32>) -> ()
  }
}
// -----
// stablehlo.batch_norm_training C6: size(batch_var) = dim(operand, feature_index)
module {
  func.func @main(%arg0: tensor<4x3xf32>, %arg1: tensor<3xf32>, %arg2: tensor<3xf32>) -> (tensor<4x3xf32>, tensor<3xf32>, tensor<4xf32>) {
    %0:3 = "stablehlo.batch_norm_training"(%arg0, %arg1, %arg2) {epsilon = 0.5 : f32, feature_index = 1 : i64} : (tensor<4x3xf32>, tensor<3xf32>, tensor<3xf32>) -> (tensor<4x3xf32>, tensor<3xf32>, tensor<4xf32>)
    "func.return"(%0#0, %0#1, %0#2) : (tensor<4x3xf32>, tensor<3xf32>, tensor<4xf32>) -> ()
  }
}
// -----
// stablehlo.batch_norm_training C7: baseline_type(operand) = baseline_type(output)
module {
  func.func @main(%arg0: tensor<5x3xf32>, %arg1: tensor<3xf32>, %arg2: tensor<3xf32>) -> (tensor<4x3xf32>, tensor<3xf32>, tensor<3xf32>) {
    %0:3 = "stablehlo.batch_norm_training"(%arg0, %arg1, %arg2) {epsilon = 0.5 : f32, feature_index = 1 : i64} : (tensor<5x3xf32>, tensor<3xf32>, tensor<3xf32>) -> (tensor<4x3xf32>, tensor<3xf32>, tensor<3xf32>)
    "func.return"(%0#0, %0#1, %0#2) : (tensor<4x3xf32>, tensor<3xf32>, tensor<3xf32>) -> ()
  }
}
// -----
// stablehlo.batch_norm_grad C1: 0 <= feature_index < rank(operand)
module {
  func.func @main(%arg0: tensor<4x3xf32>, %arg1: tensor<3xf32>, %arg2: tensor<3xf32>, %arg3: tensor<3xf32>, %arg4: tensor<4x3xf32>) -> (tensor<4x3xf32>, tensor<3xf32>, tensor<3xf32>) {
    %0:3 = "stablehlo.batch_norm_grad"(%arg0, %arg1, %arg2, %arg3, %arg4) {epsilon = 0.5 : f32, feature_index = -1 : i64} : (tensor<4x3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<4x3xf32>) -> (tensor<4x3xf32>, tensor<3xf32>, tensor<3xf32>)
    "func.return"(%0#0, %0#1, %0#2) : (tensor<4x3xf32>, tensor<3xf32>, tensor<3xf32>) -> ()
  }
}
// -----
// stablehlo.batch_norm_grad C2: baseline_element_type(operand) = baseline_element_type(scale) = baseline_element_type(mean) = baseline_element_type(variance) = baseline_element_type(grad_output) = baseline_element_type(grad_operand) = baseline_element_type(grad_scale) = baseline_element_type(grad_offset)
module {
  func.func @main(%arg0: tensor<4x3xf64>, %arg1: tensor<3xf32>, %arg2: tensor<3xf32>, %arg3: tensor<3xf32>, %arg4: tensor<4x3xf32>) -> (tensor<4x3xf32>, tensor<3xf32>, tensor<3xf32>) {
    %0:3 = "stablehlo.batch_norm_grad"(%arg0, %arg1, %arg2, %arg3, %arg4) {epsilon = 0.5 : f32, feature_index = 1 : i64} : (tensor<4x3xf64>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<4x3xf32>) -> (tensor<4x3xf32>, tensor<3xf32>, tensor<3xf32>)
    "func.return"(%0#0, %0#1, %0#2) : (tensor<4x3xf32>, tensor<3xf32>, tensor<3xf32>) -> ()
  }
}
// -----
// stablehlo.batch_norm_grad C3: shape(operand) = shape(grad_output) = shape(grad_operand)
module {
  func.func @main(%arg0: tensor<5x3xf32>, %arg1: tensor<3xf32>, %arg2: tensor<3xf32>, %arg3: tensor<3xf32>, %arg4: tensor<4x3xf32>) -> (tensor<4x3xf32>, tensor<3xf32>, tensor<3xf32>) {
    %0:3 = "stablehlo.batch_norm_grad"(%arg0, %arg1, %arg2, %arg3, %arg4) {epsilon = 0.5 : f32, feature_index = 1 : i64} : (tensor<5x3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<4x3xf32>) -> (tensor<4x3xf32>, tensor<3xf32>, tensor<3xf32>)
    "func.return"(%0#0, %0#1, %0#2) : (tensor<4x3xf32>, tensor<3xf32>, tensor<3xf32>) -> ()
  }
}
// -----
// stablehlo.batch_norm_grad C4: shape(scale) = shape(mean) = shape(variance) = shape(grad_scale) = shape(grad_offset)
module {
  func.func @main(%arg0: tensor<4x3xf32>, %arg1: tensor<3xf32>, %arg2: tensor<4xf32>, %arg3: tensor<3xf32>, %arg4: tensor<4x3xf32>) -> (tensor<4x3xf32>, tensor<3xf32>, tensor<3xf32>) {
    %0:3 = "stablehlo.batch_norm_grad"(%arg0, %arg1, %arg2, %arg3, %arg4) {epsilon = 0.5 : f32, feature_index = 1 : i64} : (tensor<4x3xf32>, tensor<3xf32>, tensor<4xf32>, tensor<3xf32>, tensor<4x3xf32>) -> (tensor<4x3xf32>, tensor<3xf32>, tensor<3xf32>)
    "func.return"(%0#0, %0#1, %0#2) : (tensor<4x3xf32>, tensor<3xf32>, tensor<3xf32>) -> ()
  }
}
// -----
// stablehlo.batch_norm_grad C5: size(scale) = dim(operand, feature_index)
module {
  func.func @main(%arg0: tensor<4x3xf32>, %arg1: tensor<3xf32>, %arg2: tensor<3xf32>, %arg3: tensor<3xf32>, %arg4: tensor<4x3xf32>) -> (tensor<4x3xf32>, tensor<3xf32>, tensor<3xf32>) {
    %0:3 = "stablehlo.batch_norm_grad"(%arg0, %arg1, %arg2, %arg3, %arg4) {epsilon = 0.5 : f32, feature_index = 0 : i64} : (tensor<4x3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<4x3xf32>) -> (tensor<4x3xf32>, tensor<3xf32>, tensor<3xf32>)
    "func.return"(%0#0, %0#1, %0#2) : (tensor<4x3xf32>, tensor<3xf32>, tensor<3xf32>) -> ()
  }
}
// -----
// stablehlo.custom_call I4: backend_config is a dictionary where api_version is API_VERSION_TYPED_FFI, a string otherwise
module {
  func.func @main(%arg0: tensor<2x3xf32>) -> tensor<2x3xf32> {
    %0 = "stablehlo.custom_call"(%arg0) {api_version = 4 : i32, backend_config = "configuration", call_target_name = "Sharding"} : (tensor<2x3xf32>) -> tensor<2x3xf32>
    "func.return"(%0) : (tensor<2x3xf32>) -> ()
  }
}
// -----
// stablehlo.custom_call I5: 0 <= api_version <= 4
module {
  func.func @main(%arg0: tensor<2x3xf32>) -> tensor<2x3xf32> {
    %0 = "stablehlo.custom_call"(%arg0) {api_version = -1 : i32, backend_config = "configuration", call_target_name = "Sharding"} : (tensor<2x3xf32>) -> tensor<2x3xf32>
    "func.return"(%0) : (tensor<2x3xf32>) -> ()
  }
}
// -----
// stablehlo.custom_call I7: aliases name components of one type; a buffer operand has at most one, a buffer result one
module {
  func.func @main(%arg0: tensor<2x3xf32>) -> tensor<2x3xf32> {
    %0 = "stablehlo.custom_call"(%arg0) {api_version = 1 : i32, call_target_name = "Sharding", output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [], operand_index = 1, operand_tuple_indices = []>]} : (tensor<2x3xf32>) -> tensor<2x3xf32>
    "func.return"(%0) : (tensor<2x3xf32>) -> ()
  }
}
// -----
// stablehlo.custom_call I8_I9: layouts are given for all operands and results or for none, each a permutation of the dimensions
module {
  func.func @main(%arg0: tensor<2x3x1xf32>) -> tensor<2x3xf32> {
    %0 = "stablehlo.custom_call"(%arg0) {api_version = 1 : i32, call_target_name = "Sharding", operand_layouts = [dense<[1, 0]> : tensor<2xindex>], result_layouts = [dense<[1, 0]> : tensor<2xindex>]} : (tensor<2x3x1xf32>) -> tensor<2x3xf32>
    "func.return"(%0) : (tensor<2x3xf32>) -> ()
  }
}
// -----
// stablehlo.custom_call I10: result_tilings has a list of tiles for each result, or none at all (StableHLO 1.18)
module {
  func.func @main(%arg0: tensor<2x3xf32>) -> tensor<2x3xf32> {
    %0 = "stablehlo.custom_call"(%arg0) {api_version = 1 : i32, call_target_name = "Sharding", result_tilings = [[dense<[2, 3]> : tensor<2xindex>], [dense<[2, 3]> : tensor<2xindex>]]} : (tensor<2x3xf32>) -> tensor<2x3xf32>
    "func.return"(%0) : (tensor<2x3xf32>) -> ()
  }
}
// -----
// chlo.is_inf C1: shape(operand) = shape(result)
module {
  func.func @main(%arg0: tensor<62xf32>) -> tensor<61xi1> {
    %0 = "chlo.is_inf"(%arg0) : (tensor<62xf32>) -> tensor<61xi1>
    "func.return"(%0) : (tensor<61xi1>) -> ()
  }
}
// -----
// chlo.is_neg_inf C1: shape(operand) = shape(result)
module {
  func.func @main(%arg0: tensor<62xf32>) -> tensor<61xi1> {
    %0 = "chlo.is_neg_inf"(%arg0) : (tensor<62xf32>) -> tensor<61xi1>
    "func.return"(%0) : (tensor<61xi1>) -> ()
  }
}
// -----
// chlo.is_pos_inf C1: shape(operand) = shape(result)
module {
  func.func @main(%arg0: tensor<62xf32>) -> tensor<61xi1> {
    %0 = "chlo.is_pos_inf"(%arg0) : (tensor<62xf32>) -> tensor<61xi1>
    "func.return"(%0) : (tensor<61xi1>) -> ()
  }
}
// -----
// chlo._asin_acos_kernel C1: type(operand) = type(result)
module {
  func.func @main(%arg0: tensor<144xcomplex<f64>>) -> tensor<144xcomplex<f32>> {
    %0 = "chlo._asin_acos_kernel"(%arg0) : (tensor<144xcomplex<f64>>) -> tensor<144xcomplex<f32>>
    "func.return"(%0) : (tensor<144xcomplex<f32>>) -> ()
  }
}
// -----
// chlo.conj C1: type(operand) = type(result)
module {
  func.func @main(%arg0: tensor<61xf64>) -> tensor<61xf32> {
    %0 = "chlo.conj"(%arg0) : (tensor<61xf64>) -> tensor<61xf32>
    "func.return"(%0) : (tensor<61xf32>) -> ()
  }
}
// -----
// chlo.next_after C1: type(x) = type(y) = type(result)
module {
  func.func @main(%arg0: tensor<2304xf64>, %arg1: tensor<2304xf32>) -> tensor<2304xf32> {
    %0 = "chlo.next_after"(%arg0, %arg1) : (tensor<2304xf64>, tensor<2304xf32>) -> tensor<2304xf32>
    "func.return"(%0) : (tensor<2304xf32>) -> ()
  }
}
// -----
// chlo.polygamma C1: type(n) = type(x) = type(result)
module {
  func.func @main(%arg0: tensor<2304xf64>, %arg1: tensor<2304xf32>) -> tensor<2304xf32> {
    %0 = "chlo.polygamma"(%arg0, %arg1) : (tensor<2304xf64>, tensor<2304xf32>) -> tensor<2304xf32>
    "func.return"(%0) : (tensor<2304xf32>) -> ()
  }
}
// -----
// chlo.zeta C1: type(x) = type(q) = type(result)
module {
  func.func @main(%arg0: tensor<2304xf64>, %arg1: tensor<2304xf32>) -> tensor<2304xf32> {
    %0 = "chlo.zeta"(%arg0, %arg1) : (tensor<2304xf64>, tensor<2304xf32>) -> tensor<2304xf32>
    "func.return"(%0) : (tensor<2304xf32>) -> ()
  }
}
// -----
// chlo.mulhi C1: type(lhs) = type(rhs) = type(result)
module {
  func.func @main(%arg0: tensor<400xi64>, %arg1: tensor<400xi32>) -> tensor<400xi32> {
    %0 = "chlo.mulhi"(%arg0, %arg1) : (tensor<400xi64>, tensor<400xi32>) -> tensor<400xi32>
    "func.return"(%0) : (tensor<400xi32>) -> ()
  }
}
// -----
// chlo.constant C1: type(value) = type(output); quantized tensors are given by their stored values
module {
  func.func @main() -> tensor<f64> {
    %0 = "chlo.constant"() {value = dense<0.6911683678627014> : tensor<f32>} : () -> tensor<f64>
    "func.return"(%0) : (tensor<f64>) -> ()
  }
}
// -----
// chlo.constant_like C1: shape(operand) = shape(result)
module {
  func.func @main(%arg0: tensor<1xf32>) -> tensor<f32> {
    %0 = "chlo.constant_like"(%arg0) {value = 1.5 : f32} : (tensor<1xf32>) -> tensor<f32>
    "func.return"(%0) : (tensor<f32>) -> ()
  }
}
// -----
// chlo.constant_like C2: type(value) = element_type(result)
module {
  func.func @main(%arg0: tensor<f32>) -> tensor<f64> {
    %0 = "chlo.constant_like"(%arg0) {value = 1.5 : f32} : (tensor<f32>) -> tensor<f64>
    "func.return"(%0) : (tensor<f64>) -> ()
  }
}
// -----
// chlo.top_k C1: 1 <= rank(operand)
module {
  func.func @main(%arg0: tensor<f32>) -> (tensor<0xf32>, tensor<0xi32>) {
    %0:2 = "chlo.top_k"(%arg0) {k = 0 : i64} : (tensor<f32>) -> (tensor<0xf32>, tensor<0xi32>)
    "func.return"(%0#0, %0#1) : (tensor<0xf32>, tensor<0xi32>) -> ()
  }
}
// -----
// chlo.top_k C2: 0 <= k <= dim(operand, -1)
module {
  func.func @main(%arg0: tensor<7xf32>) -> (tensor<3xf32>, tensor<3xi32>) {
    %0:2 = "chlo.top_k"(%arg0) {is_stable = true, k = -1 : i64} : (tensor<7xf32>) -> (tensor<3xf32>, tensor<3xi32>)
    "func.return"(%0#0, %0#1) : (tensor<3xf32>, tensor<3xi32>) -> ()
  }
}
// -----
// chlo.top_k C3: values has elements of the operand's type, indices of type i32, both shape (..., k)
module {
  func.func @main(%arg0: tensor<7xf32>) -> (tensor<3xf32>, tensor<3xi32>) {
    %0:2 = "chlo.top_k"(%arg0) {is_stable = true, k = 4 : i64} : (tensor<7xf32>) -> (tensor<3xf32>, tensor<3xi32>)
    "func.return"(%0#0, %0#1) : (tensor<3xf32>, tensor<3xi32>) -> ()
  }
}
// -----
// chlo.acos C1: type(operand) = type(result)
module {
  func.func @main(%arg0: tensor<61xf64>) -> tensor<61xf32> {
    %0 = "chlo.acos"(%arg0) : (tensor<61xf64>) -> tensor<61xf32>
    "func.return"(%0) : (tensor<61xf32>) -> ()
  }
}
// -----
// chlo.acosh C1: type(operand) = type(result)
module {
  func.func @main(%arg0: tensor<61xf64>) -> tensor<61xf32> {
    %0 = "chlo.acosh"(%arg0) : (tensor<61xf64>) -> tensor<61xf32>
    "func.return"(%0) : (tensor<61xf32>) -> ()
  }
}
// -----
// chlo.asin C1: type(operand) = type(result)
module {
  func.func @main(%arg0: tensor<61xf64>) -> tensor<61xf32> {
    %0 = "chlo.asin"(%arg0) : (tensor<61xf64>) -> tensor<61xf32>
    "func.return"(%0) : (tensor<61xf32>) -> ()
  }
}
// -----
// chlo.asinh C1: type(operand) = type(result)
module {
  func.func @main(%arg0: tensor<61xf64>) -> tensor<61xf32> {
    %0 = "chlo.asinh"(%arg0) : (tensor<61xf64>) -> tensor<61xf32>
    "func.return"(%0) : (tensor<61xf32>) -> ()
  }
}
// -----
// chlo.atan C1: type(operand) = type(result)
module {
  func.func @main(%arg0: tensor<61xf64>) -> tensor<61xf32> {
    %0 = "chlo.atan"(%arg0) : (tensor<61xf64>) -> tensor<61xf32>
    "func.return"(%0) : (tensor<61xf32>) -> ()
  }
}
// -----
// chlo.atanh C1: type(operand) = type(result)
module {
  func.func @main(%arg0: tensor<61xf64>) -> tensor<61xf32> {
    %0 = "chlo.atanh"(%arg0) : (tensor<61xf64>) -> tensor<61xf32>
    "func.return"(%0) : (tensor<61xf32>) -> ()
  }
}
// -----
// chlo.bessel_i1e C1: type(operand) = type(result)
module {
  func.func @main(%arg0: tensor<61xf64>) -> tensor<61xf32> {
    %0 = "chlo.bessel_i1e"(%arg0) : (tensor<61xf64>) -> tensor<61xf32>
    "func.return"(%0) : (tensor<61xf32>) -> ()
  }
}
// -----
// chlo.cosh C1: type(operand) = type(result)
module {
  func.func @main(%arg0: tensor<61xf64>) -> tensor<61xf32> {
    %0 = "chlo.cosh"(%arg0) : (tensor<61xf64>) -> tensor<61xf32>
    "func.return"(%0) : (tensor<61xf32>) -> ()
  }
}
// -----
// chlo.sinh C1: type(operand) = type(result)
module {
  func.func @main(%arg0: tensor<61xf64>) -> tensor<61xf32> {
    %0 = "chlo.sinh"(%arg0) : (tensor<61xf64>) -> tensor<61xf32>
    "func.return"(%0) : (tensor<61xf32>) -> ()
  }
}
// -----
// chlo.square C1: type(operand) = type(result)
module {
  func.func @main(%arg0: tensor<61xf64>) -> tensor<61xf32> {
    %0 = "chlo.square"(%arg0) : (tensor<61xf64>) -> tensor<61xf32>
    "func.return"(%0) : (tensor<61xf32>) -> ()
  }
}
// -----
// chlo.tan C1: type(operand) = type(result)
module {
  func.func @main(%arg0: tensor<61xf64>) -> tensor<61xf32> {
    %0 = "chlo.tan"(%arg0) : (tensor<61xf64>) -> tensor<61xf32>
    "func.return"(%0) : (tensor<61xf32>) -> ()
  }
}
// -----
// chlo.digamma C1: type(operand) = type(result)
module {
  func.func @main(%arg0: tensor<61xf64>) -> tensor<61xf32> {
    %0 = "chlo.digamma"(%arg0) : (tensor<61xf64>) -> tensor<61xf32>
    "func.return"(%0) : (tensor<61xf32>) -> ()
  }
}
// -----
// chlo.erf C1: type(operand) = type(result)
module {
  func.func @main(%arg0: tensor<61xf64>) -> tensor<61xf32> {
    %0 = "chlo.erf"(%arg0) : (tensor<61xf64>) -> tensor<61xf32>
    "func.return"(%0) : (tensor<61xf32>) -> ()
  }
}
// -----
// chlo.erf_inv C1: type(operand) = type(result)
module {
  func.func @main(%arg0: tensor<61xf64>) -> tensor<61xf32> {
    %0 = "chlo.erf_inv"(%arg0) : (tensor<61xf64>) -> tensor<61xf32>
    "func.return"(%0) : (tensor<61xf32>) -> ()
  }
}
// -----
// chlo.erfc C1: type(operand) = type(result)
module {
  func.func @main(%arg0: tensor<61xf64>) -> tensor<61xf32> {
    %0 = "chlo.erfc"(%arg0) : (tensor<61xf64>) -> tensor<61xf32>
    "func.return"(%0) : (tensor<61xf32>) -> ()
  }
}
// -----
// chlo.lgamma C1: type(operand) = type(result)
module {
  func.func @main(%arg0: tensor<61xf64>) -> tensor<61xf32> {
    %0 = "chlo.lgamma"(%arg0) : (tensor<61xf64>) -> tensor<61xf32>
    "func.return"(%0) : (tensor<61xf32>) -> ()
  }
}
// -----
// chlo.broadcast_add C1: the operation on operands of one shape accepts the element types, which are the same
module {
  func.func @main(%arg0: tensor<2304xf64>, %arg1: tensor<2304xf32>) -> tensor<2304xf32> {
    %0 = "chlo.broadcast_add"(%arg0, %arg1) : (tensor<2304xf64>, tensor<2304xf32>) -> tensor<2304xf32>
    "func.return"(%0) : (tensor<2304xf32>) -> ()
  }
}
// -----
// chlo.broadcast_add C2: broadcast_dimensions maps the dimensions of the operand of lower rank to the other's, ascending
module {
  func.func @main(%arg0: tensor<2304xf32>, %arg1: tensor<2304xf32>) -> tensor<2304xf32> {
    %0 = "chlo.broadcast_add"(%arg0, %arg1) {broadcast_dimensions = array<i64: 1>} : (tensor<2304xf32>, tensor<2304xf32>) -> tensor<2304xf32>
    "func.return"(%0) : (tensor<2304xf32>) -> ()
  }
}
// -----
// chlo.broadcast_add C3: the shapes of lhs and rhs broadcast to the shape of result
module {
  func.func @main(%arg0: tensor<2305xf32>, %arg1: tensor<2304xf32>) -> tensor<2304xf32> {
    %0 = "chlo.broadcast_add"(%arg0, %arg1) : (tensor<2305xf32>, tensor<2304xf32>) -> tensor<2304xf32>
    "func.return"(%0) : (tensor<2304xf32>) -> ()
  }
}
// -----
// chlo.broadcast_and C1: the operation on operands of one shape accepts the element types, which are the same
module {
  func.func @main(%arg0: tensor<400xf32>, %arg1: tensor<400xi32>) -> tensor<400xi32> {
    %0 = "chlo.broadcast_and"(%arg0, %arg1) : (tensor<400xf32>, tensor<400xi32>) -> tensor<400xi32>
    "func.return"(%0) : (tensor<400xi32>) -> ()
  }
}
// -----
// chlo.broadcast_and C2: broadcast_dimensions maps the dimensions of the operand of lower rank to the other's, ascending
module {
  func.func @main(%arg0: tensor<400xi32>, %arg1: tensor<400xi32>) -> tensor<400xi32> {
    %0 = "chlo.broadcast_and"(%arg0, %arg1) {broadcast_dimensions = array<i64: 1>} : (tensor<400xi32>, tensor<400xi32>) -> tensor<400xi32>
    "func.return"(%0) : (tensor<400xi32>) -> ()
  }
}
// -----
// chlo.broadcast_and C3: the shapes of lhs and rhs broadcast to the shape of result
module {
  func.func @main(%arg0: tensor<401xi32>, %arg1: tensor<400xi32>) -> tensor<400xi32> {
    %0 = "chlo.broadcast_and"(%arg0, %arg1) : (tensor<401xi32>, tensor<400xi32>) -> tensor<400xi32>
    "func.return"(%0) : (tensor<400xi32>) -> ()
  }
}
// -----
// chlo.broadcast_atan2 C1: the operation on operands of one shape accepts the element types, which are the same
module {
  func.func @main(%arg0: tensor<2304xf64>, %arg1: tensor<2304xf32>) -> tensor<2304xf32> {
    %0 = "chlo.broadcast_atan2"(%arg0, %arg1) : (tensor<2304xf64>, tensor<2304xf32>) -> tensor<2304xf32>
    "func.return"(%0) : (tensor<2304xf32>) -> ()
  }
}
// -----
// chlo.broadcast_atan2 C2: broadcast_dimensions maps the dimensions of the operand of lower rank to the other's, ascending
module {
  func.func @main(%arg0: tensor<2304xf32>, %arg1: tensor<2304xf32>) -> tensor<2304xf32> {
    %0 = "chlo.broadcast_atan2"(%arg0, %arg1) {broadcast_dimensions = array<i64: 1>} : (tensor<2304xf32>, tensor<2304xf32>) -> tensor<2304xf32>
    "func.return"(%0) : (tensor<2304xf32>) -> ()
  }
}
// -----
// chlo.broadcast_atan2 C3: the shapes of lhs and rhs broadcast to the shape of result
module {
  func.func @main(%arg0: tensor<2305xf32>, %arg1: tensor<2304xf32>) -> tensor<2304xf32> {
    %0 = "chlo.broadcast_atan2"(%arg0, %arg1) : (tensor<2305xf32>, tensor<2304xf32>) -> tensor<2304xf32>
    "func.return"(%0) : (tensor<2304xf32>) -> ()
  }
}
// -----
// chlo.broadcast_complex C1: the operation on operands of one shape accepts the element types, which are the same
module {
  func.func @main(%arg0: tensor<2304xf64>, %arg1: tensor<2304xf32>) -> tensor<2304xcomplex<f32>> {
    %0 = "chlo.broadcast_complex"(%arg0, %arg1) : (tensor<2304xf64>, tensor<2304xf32>) -> tensor<2304xcomplex<f32>>
    "func.return"(%0) : (tensor<2304xcomplex<f32>>) -> ()
  }
}
// -----
// chlo.broadcast_complex C2: broadcast_dimensions maps the dimensions of the operand of lower rank to the other's, ascending
module {
  func.func @main(%arg0: tensor<2304xf32>, %arg1: tensor<2304xf32>) -> tensor<2304xcomplex<f32>> {
    %0 = "chlo.broadcast_complex"(%arg0, %arg1) {broadcast_dimensions = array<i64: 1>} : (tensor<2304xf32>, tensor<2304xf32>) -> tensor<2304xcomplex<f32>>
    "func.return"(%0) : (tensor<2304xcomplex<f32>>) -> ()
  }
}
// -----
// chlo.broadcast_complex C3: the shapes of lhs and rhs broadcast to the shape of result
module {
  func.func @main(%arg0: tensor<2305xf32>, %arg1: tensor<2304xf32>) -> tensor<2304xcomplex<f32>> {
    %0 = "chlo.broadcast_complex"(%arg0, %arg1) : (tensor<2305xf32>, tensor<2304xf32>) -> tensor<2304xcomplex<f32>>
    "func.return"(%0) : (tensor<2304xcomplex<f32>>) -> ()
  }
}
// -----
// chlo.broadcast_divide C1: the operation on operands of one shape accepts the element types, which are the same
module {
  func.func @main(%arg0: tensor<2304xf64>, %arg1: tensor<2304xf32>) -> tensor<2304xf32> {
    %0 = "chlo.broadcast_divide"(%arg0, %arg1) : (tensor<2304xf64>, tensor<2304xf32>) -> tensor<2304xf32>
    "func.return"(%0) : (tensor<2304xf32>) -> ()
  }
}
// -----
// chlo.broadcast_divide C2: broadcast_dimensions maps the dimensions of the operand of lower rank to the other's, ascending
module {
  func.func @main(%arg0: tensor<2304xf32>, %arg1: tensor<2304xf32>) -> tensor<2304xf32> {
    %0 = "chlo.broadcast_divide"(%arg0, %arg1) {broadcast_dimensions = array<i64: 1>} : (tensor<2304xf32>, tensor<2304xf32>) -> tensor<2304xf32>
    "func.return"(%0) : (tensor<2304xf32>) -> ()
  }
}
// -----
// chlo.broadcast_divide C3: the shapes of lhs and rhs broadcast to the shape of result
module {
  func.func @main(%arg0: tensor<2305xf32>, %arg1: tensor<2304xf32>) -> tensor<2304xf32> {
    %0 = "chlo.broadcast_divide"(%arg0, %arg1) : (tensor<2305xf32>, tensor<2304xf32>) -> tensor<2304xf32>
    "func.return"(%0) : (tensor<2304xf32>) -> ()
  }
}
// -----
// chlo.broadcast_maximum C1: the operation on operands of one shape accepts the element types, which are the same
module {
  func.func @main(%arg0: tensor<2304xf64>, %arg1: tensor<2304xf32>) -> tensor<2304xf32> {
    %0 = "chlo.broadcast_maximum"(%arg0, %arg1) : (tensor<2304xf64>, tensor<2304xf32>) -> tensor<2304xf32>
    "func.return"(%0) : (tensor<2304xf32>) -> ()
  }
}
// -----
// chlo.broadcast_maximum C2: broadcast_dimensions maps the dimensions of the operand of lower rank to the other's, ascending
module {
  func.func @main(%arg0: tensor<2304xf32>, %arg1: tensor<2304xf32>) -> tensor<2304xf32> {
    %0 = "chlo.broadcast_maximum"(%arg0, %arg1) {broadcast_dimensions = array<i64: 1>} : (tensor<2304xf32>, tensor<2304xf32>) -> tensor<2304xf32>
    "func.return"(%0) : (tensor<2304xf32>) -> ()
  }
}
// -----
// chlo.broadcast_maximum C3: the shapes of lhs and rhs broadcast to the shape of result
module {
  func.func @main(%arg0: tensor<2305xf32>, %arg1: tensor<2304xf32>) -> tensor<2304xf32> {
    %0 = "chlo.broadcast_maximum"(%arg0, %arg1) : (tensor<2305xf32>, tensor<2304xf32>) -> tensor<2304xf32>
    "func.return"(%0) : (tensor<2304xf32>) -> ()
  }
}
// -----
// chlo.broadcast_minimum C1: the operation on operands of one shape accepts the element types, which are the same
module {
  func.func @main(%arg0: tensor<2304xf64>, %arg1: tensor<2304xf32>) -> tensor<2304xf32> {
    %0 = "chlo.broadcast_minimum"(%arg0, %arg1) : (tensor<2304xf64>, tensor<2304xf32>) -> tensor<2304xf32>
    "func.return"(%0) : (tensor<2304xf32>) -> ()
  }
}
// -----
// chlo.broadcast_minimum C2: broadcast_dimensions maps the dimensions of the operand of lower rank to the other's, ascending
module {
  func.func @main(%arg0: tensor<2304xf32>, %arg1: tensor<2304xf32>) -> tensor<2304xf32> {
    %0 = "chlo.broadcast_minimum"(%arg0, %arg1) {broadcast_dimensions = array<i64: 1>} : (tensor<2304xf32>, tensor<2304xf32>) -> tensor<2304xf32>
    "func.return"(%0) : (tensor<2304xf32>) -> ()
  }
}
// -----
// chlo.broadcast_minimum C3: the shapes of lhs and rhs broadcast to the shape of result
module {
  func.func @main(%arg0: tensor<2305xf32>, %arg1: tensor<2304xf32>) -> tensor<2304xf32> {
    %0 = "chlo.broadcast_minimum"(%arg0, %arg1) : (tensor<2305xf32>, tensor<2304xf32>) -> tensor<2304xf32>
    "func.return"(%0) : (tensor<2304xf32>) -> ()
  }
}
// -----
// chlo.broadcast_multiply C1: the operation on operands of one shape accepts the element types, which are the same
module {
  func.func @main(%arg0: tensor<2304xf64>, %arg1: tensor<2304xf32>) -> tensor<2304xf32> {
    %0 = "chlo.broadcast_multiply"(%arg0, %arg1) : (tensor<2304xf64>, tensor<2304xf32>) -> tensor<2304xf32>
    "func.return"(%0) : (tensor<2304xf32>) -> ()
  }
}
// -----
// chlo.broadcast_multiply C2: broadcast_dimensions maps the dimensions of the operand of lower rank to the other's, ascending
module {
  func.func @main(%arg0: tensor<2304xf32>, %arg1: tensor<2304xf32>) -> tensor<2304xf32> {
    %0 = "chlo.broadcast_multiply"(%arg0, %arg1) {broadcast_dimensions = array<i64: 1>} : (tensor<2304xf32>, tensor<2304xf32>) -> tensor<2304xf32>
    "func.return"(%0) : (tensor<2304xf32>) -> ()
  }
}
// -----
// chlo.broadcast_multiply C3: the shapes of lhs and rhs broadcast to the shape of result
module {
  func.func @main(%arg0: tensor<2305xf32>, %arg1: tensor<2304xf32>) -> tensor<2304xf32> {
    %0 = "chlo.broadcast_multiply"(%arg0, %arg1) : (tensor<2305xf32>, tensor<2304xf32>) -> tensor<2304xf32>
    "func.return"(%0) : (tensor<2304xf32>) -> ()
  }
}
// -----
// chlo.broadcast_next_after C1: the operation on operands of one shape accepts the element types, which are the same
module {
  func.func @main(%arg0: tensor<2304xf64>, %arg1: tensor<2304xf32>) -> tensor<2304xf32> {
    %0 = "chlo.broadcast_next_after"(%arg0, %arg1) : (tensor<2304xf64>, tensor<2304xf32>) -> tensor<2304xf32>
    "func.return"(%0) : (tensor<2304xf32>) -> ()
  }
}
// -----
// chlo.broadcast_next_after C2: broadcast_dimensions maps the dimensions of the operand of lower rank to the other's, ascending
module {
  func.func @main(%arg0: tensor<2304xf32>, %arg1: tensor<2304xf32>) -> tensor<2304xf32> {
    %0 = "chlo.broadcast_next_after"(%arg0, %arg1) {broadcast_dimensions = array<i64: 1>} : (tensor<2304xf32>, tensor<2304xf32>) -> tensor<2304xf32>
    "func.return"(%0) : (tensor<2304xf32>) -> ()
  }
}
// -----
// chlo.broadcast_next_after C3: the shapes of lhs and rhs broadcast to the shape of result
module {
  func.func @main(%arg0: tensor<2305xf32>, %arg1: tensor<2304xf32>) -> tensor<2304xf32> {
    %0 = "chlo.broadcast_next_after"(%arg0, %arg1) : (tensor<2305xf32>, tensor<2304xf32>) -> tensor<2304xf32>
    "func.return"(%0) : (tensor<2304xf32>) -> ()
  }
}
// -----
// chlo.broadcast_or C1: the operation on operands of one shape accepts the element types, which are the same
module {
  func.func @main(%arg0: tensor<400xf32>, %arg1: tensor<400xi32>) -> tensor<400xi32> {
    %0 = "chlo.broadcast_or"(%arg0, %arg1) : (tensor<400xf32>, tensor<400xi32>) -> tensor<400xi32>
    "func.return"(%0) : (tensor<400xi32>) -> ()
  }
}
// -----
// chlo.broadcast_or C2: broadcast_dimensions maps the dimensions of the operand of lower rank to the other's, ascending
module {
  func.func @main(%arg0: tensor<400xi32>, %arg1: tensor<400xi32>) -> tensor<400xi32> {
    %0 = "chlo.broadcast_or"(%arg0, %arg1) {broadcast_dimensions = array<i64: 1>} : (tensor<400xi32>, tensor<400xi32>) -> tensor<400xi32>
    "func.return"(%0) : (tensor<400xi32>) -> ()
  }
}
// -----
// chlo.broadcast_or C3: the shapes of lhs and rhs broadcast to the shape of result
module {
  func.func @main(%arg0: tensor<401xi32>, %arg1: tensor<400xi32>) -> tensor<400xi32> {
    %0 = "chlo.broadcast_or"(%arg0, %arg1) : (tensor<401xi32>, tensor<400xi32>) -> tensor<400xi32>
    "func.return"(%0) : (tensor<400xi32>) -> ()
  }
}
// -----
// chlo.broadcast_polygamma C1: the operation on operands of one shape accepts the element types, which are the same
module {
  func.func @main(%arg0: tensor<2304xf64>, %arg1: tensor<2304xf32>) -> tensor<2304xf32> {
    %0 = "chlo.broadcast_polygamma"(%arg0, %arg1) : (tensor<2304xf64>, tensor<2304xf32>) -> tensor<2304xf32>
    "func.return"(%0) : (tensor<2304xf32>) -> ()
  }
}
// -----
// chlo.broadcast_polygamma C2: broadcast_dimensions maps the dimensions of the operand of lower rank to the other's, ascending
module {
  func.func @main(%arg0: tensor<2304xf32>, %arg1: tensor<2304xf32>) -> tensor<2304xf32> {
    %0 = "chlo.broadcast_polygamma"(%arg0, %arg1) {broadcast_dimensions = array<i64: 1>} : (tensor<2304xf32>, tensor<2304xf32>) -> tensor<2304xf32>
    "func.return"(%0) : (tensor<2304xf32>) -> ()
  }
}
// -----
// chlo.broadcast_polygamma C3: the shapes of lhs and rhs broadcast to the shape of result
module {
  func.func @main(%arg0: tensor<2305xf32>, %arg1: tensor<2304xf32>) -> tensor<2304xf32> {
    %0 = "chlo.broadcast_polygamma"(%arg0, %arg1) : (tensor<2305xf32>, tensor<2304xf32>) -> tensor<2304xf32>
    "func.return"(%0) : (tensor<2304xf32>) -> ()
  }
}
// -----
// chlo.broadcast_power C1: the operation on operands of one shape accepts the element types, which are the same
module {
  func.func @main(%arg0: tensor<2304xf64>, %arg1: tensor<2304xf32>) -> tensor<2304xf32> {
    %0 = "chlo.broadcast_power"(%arg0, %arg1) : (tensor<2304xf64>, tensor<2304xf32>) -> tensor<2304xf32>
    "func.return"(%0) : (tensor<2304xf32>) -> ()
  }
}
// -----
// chlo.broadcast_power C2: broadcast_dimensions maps the dimensions of the operand of lower rank to the other's, ascending
module {
  func.func @main(%arg0: tensor<2304xf32>, %arg1: tensor<2304xf32>) -> tensor<2304xf32> {
    %0 = "chlo.broadcast_power"(%arg0, %arg1) {broadcast_dimensions = array<i64: 1>} : (tensor<2304xf32>, tensor<2304xf32>) -> tensor<2304xf32>
    "func.return"(%0) : (tensor<2304xf32>) -> ()
  }
}
// -----
// chlo.broadcast_power C3: the shapes of lhs and rhs broadcast to the shape of result
module {
  func.func @main(%arg0: tensor<2305xf32>, %arg1: tensor<2304xf32>) -> tensor<2304xf32> {
    %0 = "chlo.broadcast_power"(%arg0, %arg1) : (tensor<2305xf32>, tensor<2304xf32>) -> tensor<2304xf32>
    "func.return"(%0) : (tensor<2304xf32>) -> ()
  }
}
// -----
// chlo.broadcast_remainder C1: the operation on operands of one shape accepts the element types, which are the same
module {
  func.func @main(%arg0: tensor<2304xf64>, %arg1: tensor<2304xf32>) -> tensor<2304xf32> {
    %0 = "chlo.broadcast_remainder"(%arg0, %arg1) : (tensor<2304xf64>, tensor<2304xf32>) -> tensor<2304xf32>
    "func.return"(%0) : (tensor<2304xf32>) -> ()
  }
}
// -----
// chlo.broadcast_remainder C2: broadcast_dimensions maps the dimensions of the operand of lower rank to the other's, ascending
module {
  func.func @main(%arg0: tensor<2304xf32>, %arg1: tensor<2304xf32>) -> tensor<2304xf32> {
    %0 = "chlo.broadcast_remainder"(%arg0, %arg1) {broadcast_dimensions = array<i64: 1>} : (tensor<2304xf32>, tensor<2304xf32>) -> tensor<2304xf32>
    "func.return"(%0) : (tensor<2304xf32>) -> ()
  }
}
// -----
// chlo.broadcast_remainder C3: the shapes of lhs and rhs broadcast to the shape of result
module {
  func.func @main(%arg0: tensor<2305xf32>, %arg1: tensor<2304xf32>) -> tensor<2304xf32> {
    %0 = "chlo.broadcast_remainder"(%arg0, %arg1) : (tensor<2305xf32>, tensor<2304xf32>) -> tensor<2304xf32>
    "func.return"(%0) : (tensor<2304xf32>) -> ()
  }
}
// -----
// chlo.broadcast_shift_left C1: the operation on operands of one shape accepts the element types, which are the same
module {
  func.func @main(%arg0: tensor<400xf32>, %arg1: tensor<400xi32>) -> tensor<400xi32> {
    %0 = "chlo.broadcast_shift_left"(%arg0, %arg1) : (tensor<400xf32>, tensor<400xi32>) -> tensor<400xi32>
    "func.return"(%0) : (tensor<400xi32>) -> ()
  }
}
// -----
// chlo.broadcast_shift_left C2: broadcast_dimensions maps the dimensions of the operand of lower rank to the other's, ascending
module {
  func.func @main(%arg0: tensor<400xi32>, %arg1: tensor<400xi32>) -> tensor<400xi32> {
    %0 = "chlo.broadcast_shift_left"(%arg0, %arg1) {broadcast_dimensions = array<i64: 1>} : (tensor<400xi32>, tensor<400xi32>) -> tensor<400xi32>
    "func.return"(%0) : (tensor<400xi32>) -> ()
  }
}
// -----
// chlo.broadcast_shift_left C3: the shapes of lhs and rhs broadcast to the shape of result
module {
  func.func @main(%arg0: tensor<401xi32>, %arg1: tensor<400xi32>) -> tensor<400xi32> {
    %0 = "chlo.broadcast_shift_left"(%arg0, %arg1) : (tensor<401xi32>, tensor<400xi32>) -> tensor<400xi32>
    "func.return"(%0) : (tensor<400xi32>) -> ()
  }
}
// -----
// chlo.broadcast_shift_right_arithmetic C1: the operation on operands of one shape accepts the element types, which are the same
module {
  func.func @main(%arg0: tensor<400xf32>, %arg1: tensor<400xi32>) -> tensor<400xi32> {
    %0 = "chlo.broadcast_shift_right_arithmetic"(%arg0, %arg1) : (tensor<400xf32>, tensor<400xi32>) -> tensor<400xi32>
    "func.return"(%0) : (tensor<400xi32>) -> ()
  }
}
// -----
// chlo.broadcast_shift_right_arithmetic C2: broadcast_dimensions maps the dimensions of the operand of lower rank to the other's, ascending
module {
  func.func @main(%arg0: tensor<400xi32>, %arg1: tensor<400xi32>) -> tensor<400xi32> {
    %0 = "chlo.broadcast_shift_right_arithmetic"(%arg0, %arg1) {broadcast_dimensions = array<i64: 1>} : (tensor<400xi32>, tensor<400xi32>) -> tensor<400xi32>
    "func.return"(%0) : (tensor<400xi32>) -> ()
  }
}
// -----
// chlo.broadcast_shift_right_arithmetic C3: the shapes of lhs and rhs broadcast to the shape of result
module {
  func.func @main(%arg0: tensor<401xi32>, %arg1: tensor<400xi32>) -> tensor<400xi32> {
    %0 = "chlo.broadcast_shift_right_arithmetic"(%arg0, %arg1) : (tensor<401xi32>, tensor<400xi32>) -> tensor<400xi32>
    "func.return"(%0) : (tensor<400xi32>) -> ()
  }
}
// -----
// chlo.broadcast_shift_right_logical C1: the operation on operands of one shape accepts the element types, which are the same
module {
  func.func @main(%arg0: tensor<400xf32>, %arg1: tensor<400xi32>) -> tensor<400xi32> {
    %0 = "chlo.broadcast_shift_right_logical"(%arg0, %arg1) : (tensor<400xf32>, tensor<400xi32>) -> tensor<400xi32>
    "func.return"(%0) : (tensor<400xi32>) -> ()
  }
}
// -----
// chlo.broadcast_shift_right_logical C2: broadcast_dimensions maps the dimensions of the operand of lower rank to the other's, ascending
module {
  func.func @main(%arg0: tensor<400xi32>, %arg1: tensor<400xi32>) -> tensor<400xi32> {
    %0 = "chlo.broadcast_shift_right_logical"(%arg0, %arg1) {broadcast_dimensions = array<i64: 1>} : (tensor<400xi32>, tensor<400xi32>) -> tensor<400xi32>
    "func.return"(%0) : (tensor<400xi32>) -> ()
  }
}
// -----
// chlo.broadcast_shift_right_logical C3: the shapes of lhs and rhs broadcast to the shape of result
module {
  func.func @main(%arg0: tensor<401xi32>, %arg1: tensor<400xi32>) -> tensor<400xi32> {
    %0 = "chlo.broadcast_shift_right_logical"(%arg0, %arg1) : (tensor<401xi32>, tensor<400xi32>) -> tensor<400xi32>
    "func.return"(%0) : (tensor<400xi32>) -> ()
  }
}
// -----
// chlo.broadcast_subtract C1: the operation on operands of one shape accepts the element types, which are the same
module {
  func.func @main(%arg0: tensor<2304xf64>, %arg1: tensor<2304xf32>) -> tensor<2304xf32> {
    %0 = "chlo.broadcast_subtract"(%arg0, %arg1) : (tensor<2304xf64>, tensor<2304xf32>) -> tensor<2304xf32>
    "func.return"(%0) : (tensor<2304xf32>) -> ()
  }
}
// -----
// chlo.broadcast_subtract C2: broadcast_dimensions maps the dimensions of the operand of lower rank to the other's, ascending
module {
  func.func @main(%arg0: tensor<2304xf32>, %arg1: tensor<2304xf32>) -> tensor<2304xf32> {
    %0 = "chlo.broadcast_subtract"(%arg0, %arg1) {broadcast_dimensions = array<i64: 1>} : (tensor<2304xf32>, tensor<2304xf32>) -> tensor<2304xf32>
    "func.return"(%0) : (tensor<2304xf32>) -> ()
  }
}
// -----
// chlo.broadcast_subtract C3: the shapes of lhs and rhs broadcast to the shape of result
module {
  func.func @main(%arg0: tensor<2305xf32>, %arg1: tensor<2304xf32>) -> tensor<2304xf32> {
    %0 = "chlo.broadcast_subtract"(%arg0, %arg1) : (tensor<2305xf32>, tensor<2304xf32>) -> tensor<2304xf32>
    "func.return"(%0) : (tensor<2304xf32>) -> ()
  }
}
// -----
// chlo.broadcast_xor C1: the operation on operands of one shape accepts the element types, which are the same
module {
  func.func @main(%arg0: tensor<400xf32>, %arg1: tensor<400xi32>) -> tensor<400xi32> {
    %0 = "chlo.broadcast_xor"(%arg0, %arg1) : (tensor<400xf32>, tensor<400xi32>) -> tensor<400xi32>
    "func.return"(%0) : (tensor<400xi32>) -> ()
  }
}
// -----
// chlo.broadcast_xor C2: broadcast_dimensions maps the dimensions of the operand of lower rank to the other's, ascending
module {
  func.func @main(%arg0: tensor<400xi32>, %arg1: tensor<400xi32>) -> tensor<400xi32> {
    %0 = "chlo.broadcast_xor"(%arg0, %arg1) {broadcast_dimensions = array<i64: 1>} : (tensor<400xi32>, tensor<400xi32>) -> tensor<400xi32>
    "func.return"(%0) : (tensor<400xi32>) -> ()
  }
}
// -----
// chlo.broadcast_xor C3: the shapes of lhs and rhs broadcast to the shape of result
module {
  func.func @main(%arg0: tensor<401xi32>, %arg1: tensor<400xi32>) -> tensor<400xi32> {
    %0 = "chlo.broadcast_xor"(%arg0, %arg1) : (tensor<401xi32>, tensor<400xi32>) -> tensor<400xi32>
    "func.return"(%0) : (tensor<400xi32>) -> ()
  }
}
// -----
// chlo.broadcast_zeta C1: the operation on operands of one shape accepts the element types, which are the same
module {
  func.func @main(%arg0: tensor<2304xf64>, %arg1: tensor<2304xf32>) -> tensor<2304xf32> {
    %0 = "chlo.broadcast_zeta"(%arg0, %arg1) : (tensor<2304xf64>, tensor<2304xf32>) -> tensor<2304xf32>
    "func.return"(%0) : (tensor<2304xf32>) -> ()
  }
}
// -----
// chlo.broadcast_zeta C2: broadcast_dimensions maps the dimensions of the operand of lower rank to the other's, ascending
module {
  func.func @main(%arg0: tensor<2304xf32>, %arg1: tensor<2304xf32>) -> tensor<2304xf32> {
    %0 = "chlo.broadcast_zeta"(%arg0, %arg1) {broadcast_dimensions = array<i64: 1>} : (tensor<2304xf32>, tensor<2304xf32>) -> tensor<2304xf32>
    "func.return"(%0) : (tensor<2304xf32>) -> ()
  }
}
// -----
// chlo.broadcast_zeta C3: the shapes of lhs and rhs broadcast to the shape of result
module {
  func.func @main(%arg0: tensor<2305xf32>, %arg1: tensor<2304xf32>) -> tensor<2304xf32> {
    %0 = "chlo.broadcast_zeta"(%arg0, %arg1) : (tensor<2305xf32>, tensor<2304xf32>) -> tensor<2304xf32>
    "func.return"(%0) : (tensor<2304xf32>) -> ()
  }
}
// -----
// chlo.broadcast_compare C1: the operation on operands of one shape accepts the element types, which are the same
module {
  func.func @main(%arg0: tensor<2304xf64>, %arg1: tensor<2304xf32>) -> tensor<2304xi1> {
    %0 = "chlo.broadcast_compare"(%arg0, %arg1) {comparison_direction = #chlo<comparison_direction LT>} : (tensor<2304xf64>, tensor<2304xf32>) -> tensor<2304xi1>
    "func.return"(%0) : (tensor<2304xi1>) -> ()
  }
}
// -----
// chlo.broadcast_compare C2: broadcast_dimensions maps the dimensions of the operand of lower rank to the other's, ascending
module {
  func.func @main(%arg0: tensor<2304xf32>, %arg1: tensor<2304xf32>) -> tensor<2304xi1> {
    %0 = "chlo.broadcast_compare"(%arg0, %arg1) {broadcast_dimensions = array<i64: 1>, compare_type = #chlo<comparison_type NOTYPE>, comparison_direction = #chlo<comparison_direction LT>} : (tensor<2304xf32>, tensor<2304xf32>) -> tensor<2304xi1>
    "func.return"(%0) : (tensor<2304xi1>) -> ()
  }
}
// -----
// chlo.broadcast_compare C3: the shapes of lhs and rhs broadcast to the shape of result
module {
  func.func @main(%arg0: tensor<2305xf32>, %arg1: tensor<2304xf32>) -> tensor<2304xi1> {
    %0 = "chlo.broadcast_compare"(%arg0, %arg1) {comparison_direction = #chlo<comparison_direction LT>} : (tensor<2305xf32>, tensor<2304xf32>) -> tensor<2304xi1>
    "func.return"(%0) : (tensor<2304xi1>) -> ()
  }
}
// -----
// chlo.broadcast_compare C4: compare_type is absent, or SIGNED, UNSIGNED, FLOAT or TOTALORDER as element_type(lhs) requires
module {
  func.func @main(%arg0: tensor<2304xf32>, %arg1: tensor<2304xf32>) -> tensor<2304xi1> {
    %0 = "chlo.broadcast_compare"(%arg0, %arg1) {compare_type = #chlo<comparison_type SIGNED>, comparison_direction = #chlo<comparison_direction LT>} : (tensor<2304xf32>, tensor<2304xf32>) -> tensor<2304xi1>
    "func.return"(%0) : (tensor<2304xi1>) -> ()
  }
}
// -----
// chlo.broadcast_select C1: element_type(on_true) = element_type(on_false) = element_type(result)
module {
  func.func @main(%arg0: tensor<40xi1>, %arg1: tensor<40xf64>, %arg2: tensor<40xf32>) -> tensor<40xf32> {
    %0 = "chlo.broadcast_select"(%arg0, %arg1, %arg2) : (tensor<40xi1>, tensor<40xf64>, tensor<40xf32>) -> tensor<40xf32>
    "func.return"(%0) : (tensor<40xf32>) -> ()
  }
}
// -----
// chlo.broadcast_select C2: the operands' shapes broadcast to the shape of result
module {
  func.func @main(%arg0: tensor<41xi1>, %arg1: tensor<40xf32>, %arg2: tensor<40xf32>) -> tensor<40xf32> {
    %0 = "chlo.broadcast_select"(%arg0, %arg1, %arg2) : (tensor<41xi1>, tensor<40xf32>, tensor<40xf32>) -> tensor<40xf32>
    "func.return"(%0) : (tensor<40xf32>) -> ()
  }
}
// -----
// chlo.scan C1, with others: 0 < size(inputs) + size(outputs)
module {
  func.func @main() {
    "chlo.scan"() ({
    ^bb0(%arg0: tensor<2xf32>, %arg1: tensor<2xf32>):
      %0 = "stablehlo.add"(%arg0, %arg1) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
      "stablehlo.return"(%0, %0) : (tensor<2xf32>, tensor<2xf32>) -> ()
    }) {dimension = 1 : i64, is_reverse = false} : () -> ()
    "func.return"() : () -> ()
  }
}
// -----
// chlo.scan C2, with others: 0 <= dimension < rank of each input and output
module {
  func.func @main(%arg0: tensor<2x5xf32>, %arg1: tensor<2xf32>) -> (tensor<2x5xf32>, tensor<2xf32>) {
    %0:2 = "chlo.scan"(%arg0, %arg1) ({
    ^bb0(%arg2: tensor<2xf32>, %arg3: tensor<2xf32>):
      %1 = "stablehlo.add"(%arg2, %arg3) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
      "stablehlo.return"(%1, %1) : (tensor<2xf32>, tensor<2xf32>) -> ()
    }) {dimension = 2 : i64, is_reverse = false} : (tensor<2x5xf32>, tensor<2xf32>) -> (tensor<2x5xf32>, tensor<2xf32>)
    "func.return"(%0#0, %0#1) : (tensor<2x5xf32>, tensor<2xf32>) -> ()
  }
}
// -----
// chlo.scan C3: 0 <= scan_dim_size
module {
  func.func @main(%arg0: tensor<2x5xf32>, %arg1: tensor<2xf32>) -> (tensor<2x5xf32>, tensor<2xf32>) {
    %0:2 = "chlo.scan"(%arg0, %arg1) ({
    ^bb0(%arg2: tensor<2xf32>, %arg3: tensor<2xf32>):
      %1 = "stablehlo.add"(%arg2, %arg3) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
      "stablehlo.return"(%1, %1) : (tensor<2xf32>, tensor<2xf32>) -> ()
    }) {dimension = 1 : i64, is_reverse = false, scan_dim_size = -1 : i64} : (tensor<2x5xf32>, tensor<2xf32>) -> (tensor<2x5xf32>, tensor<2xf32>)
    "func.return"(%0#0, %0#1) : (tensor<2x5xf32>, tensor<2xf32>) -> ()
  }
}
// -----
// chlo.scan C4: dim(inputs..., dimension) = dim(outputs..., dimension) = scan_dim_size
module {
  func.func @main(%arg0: tensor<2x5xf32>, %arg1: tensor<2xf32>) -> (tensor<2x5xf32>, tensor<2xf32>) {
    %0:2 = "chlo.scan"(%arg0, %arg1) ({
    ^bb0(%arg2: tensor<2xf32>, %arg3: tensor<2xf32>):
      %1 = "stablehlo.add"(%arg2, %arg3) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
      "stablehlo.return"(%1, %1) : (tensor<2xf32>, tensor<2xf32>) -> ()
    }) {dimension = 1 : i64, is_reverse = false, scan_dim_size = 0 : i64} : (tensor<2x5xf32>, tensor<2xf32>) -> (tensor<2x5xf32>, tensor<2xf32>)
    "func.return"(%0#0, %0#1) : (tensor<2x5xf32>, tensor<2xf32>) -> ()
  }
}
// -----
// chlo.scan C5: input_types(body) = slices of inputs + type(inits...)
module {
  func.func @main(%arg0: tensor<2x5xf32>, %arg1: tensor<2xf32>) -> (tensor<2x2xf32>, tensor<2xf32>) {
    %0:2 = "chlo.scan"(%arg0, %arg1) ({
    ^bb0(%arg2: tensor<2xf32>, %arg3: tensor<2xf32>):
      %1 = "stablehlo.add"(%arg2, %arg3) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
      "stablehlo.return"(%1, %1) : (tensor<2xf32>, tensor<2xf32>) -> ()
    }) {dimension = 0 : i64, is_reverse = false} : (tensor<2x5xf32>, tensor<2xf32>) -> (tensor<2x2xf32>, tensor<2xf32>)
    "func.return"(%0#0, %0#1) : (tensor<2x2xf32>, tensor<2xf32>) -> ()
  }
}
// -----
// chlo.scan C6: output_types(body) = slices of outputs + type(carries...)
module {
  func.func @main(%arg0: tensor<2x5xf32>, %arg1: tensor<2xf32>) -> (tensor<2x5xf64>, tensor<2xf32>) {
    %0:2 = "chlo.scan"(%arg0, %arg1) ({
    ^bb0(%arg2: tensor<2xf32>, %arg3: tensor<2xf32>):
      %1 = "stablehlo.add"(%arg2, %arg3) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
      "stablehlo.return"(%1, %1) : (tensor<2xf32>, tensor<2xf32>) -> ()
    }) {dimension = 1 : i64, is_reverse = false} : (tensor<2x5xf32>, tensor<2xf32>) -> (tensor<2x5xf64>, tensor<2xf32>)
    "func.return"(%0#0, %0#1) : (tensor<2x5xf64>, tensor<2xf32>) -> ()
  }
}
// -----
// chlo.scan C7: type(carries...) = type(inits...)
module {
  func.func @main(%arg0: tensor<2x5xf32>, %arg1: tensor<2xf32>) -> (tensor<2x5xf32>, tensor<2xf64>) {
    %0:2 = "chlo.scan"(%arg0, %arg1) ({
    ^bb0(%arg2: tensor<2xf32>, %arg3: tensor<2xf32>):
      %1 = "stablehlo.add"(%arg2, %arg3) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
      %2 = "stablehlo.convert"(%1) : (tensor<2xf32>) -> tensor<2xf64>
      "stablehlo.return"(%1, %2) : (tensor<2xf32>, tensor<2xf64>) -> ()
    }) {dimension = 1 : i64, is_reverse = false} : (tensor<2x5xf32>, tensor<2xf32>) -> (tensor<2x5xf32>, tensor<2xf64>)
    "func.return"(%0#0, %0#1) : (tensor<2x5xf32>, tensor<2xf64>) -> ()
  }
}
// -----
// chlo.ragged_dot C1, with others: size(lhs_batching_dimensions) = size(rhs_batching_dimensions)
module {
  func.func @main(%arg0: tensor<5x2xf32>, %arg1: tensor<3x2x4xf32>, %arg2: tensor<3xi32>) -> tensor<5x4xf32> {
    %0 = "chlo.ragged_dot"(%arg0, %arg1, %arg2) {ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_batching_dimensions = [0], rhs_batching_dimensions = [], lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [1], lhs_ragged_dimensions = [0], rhs_group_dimensions = [0]>} : (tensor<5x2xf32>, tensor<3x2x4xf32>, tensor<3xi32>) -> tensor<5x4xf32>
    "func.return"(%0) : (tensor<5x4xf32>) -> ()
  }
}
// -----
// chlo.ragged_dot C2: size(lhs_contracting_dimensions) = size(rhs_contracting_dimensions)
module {
  func.func @main(%arg0: tensor<5x2xf32>, %arg1: tensor<3x2x4xf32>, %arg2: tensor<3xi32>) -> tensor<5x2x4xf32> {
    %0 = "chlo.ragged_dot"(%arg0, %arg1, %arg2) {ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_batching_dimensions = [], rhs_batching_dimensions = [], lhs_contracting_dimensions = [], rhs_contracting_dimensions = [1], lhs_ragged_dimensions = [0], rhs_group_dimensions = [0]>} : (tensor<5x2xf32>, tensor<3x2x4xf32>, tensor<3xi32>) -> tensor<5x2x4xf32>
    "func.return"(%0) : (tensor<5x2x4xf32>) -> ()
  }
}
// -----
// chlo.ragged_dot C3, with others: is_unique(concatenate(lhs_batching_dimensions, lhs_contracting_dimensions))
module {
  func.func @main(%arg0: tensor<4x3x2xf32>, %arg1: tensor<4x2x2xf32>, %arg2: tensor<2xi32>) -> tensor<4x3x2xf32> {
    %0 = "chlo.ragged_dot"(%arg0, %arg1, %arg2) {ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_batching_dimensions = [2], rhs_batching_dimensions = [0], lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [1], lhs_ragged_dimensions = [0], rhs_group_dimensions = []>} : (tensor<4x3x2xf32>, tensor<4x2x2xf32>, tensor<2xi32>) -> tensor<4x3x2xf32>
    "func.return"(%0) : (tensor<4x3x2xf32>) -> ()
  }
}
// -----
// chlo.ragged_dot C4, with others: is_unique(concatenate(rhs_batching_dimensions, rhs_contracting_dimensions))
module {
  func.func @main(%arg0: tensor<4x3x2xf32>, %arg1: tensor<4x2x2xf32>, %arg2: tensor<2xi32>) -> tensor<4x3x2xf32> {
    %0 = "chlo.ragged_dot"(%arg0, %arg1, %arg2) {ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_batching_dimensions = [0], rhs_batching_dimensions = [1], lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [1], lhs_ragged_dimensions = [0], rhs_group_dimensions = []>} : (tensor<4x3x2xf32>, tensor<4x2x2xf32>, tensor<2xi32>) -> tensor<4x3x2xf32>
    "func.return"(%0) : (tensor<4x3x2xf32>) -> ()
  }
}
// -----
// chlo.ragged_dot C5, with others: 0 <= lhs_batching_dimensions < rank(lhs)
module {
  func.func @main(%arg0: tensor<4x3x2xf32>, %arg1: tensor<4x2x2xf32>, %arg2: tensor<2xi32>) -> tensor<4x3x2xf32> {
    %0 = "chlo.ragged_dot"(%arg0, %arg1, %arg2) {ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_batching_dimensions = [-1], rhs_batching_dimensions = [0], lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [1], lhs_ragged_dimensions = [0], rhs_group_dimensions = []>} : (tensor<4x3x2xf32>, tensor<4x2x2xf32>, tensor<2xi32>) -> tensor<4x3x2xf32>
    "func.return"(%0) : (tensor<4x3x2xf32>) -> ()
  }
}
// -----
// chlo.ragged_dot C6: 0 <= lhs_contracting_dimensions < rank(lhs)
module {
  func.func @main(%arg0: tensor<5x2xf32>, %arg1: tensor<3x2x4xf32>, %arg2: tensor<3xi32>) -> tensor<5x2x4xf32> {
    %0 = "chlo.ragged_dot"(%arg0, %arg1, %arg2) {ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_batching_dimensions = [], rhs_batching_dimensions = [], lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [1], lhs_ragged_dimensions = [0], rhs_group_dimensions = [0]>} : (tensor<5x2xf32>, tensor<3x2x4xf32>, tensor<3xi32>) -> tensor<5x2x4xf32>
    "func.return"(%0) : (tensor<5x2x4xf32>) -> ()
  }
}
// -----
// chlo.ragged_dot C7: 0 <= rhs_batching_dimensions < rank(rhs)
module {
  func.func @main(%arg0: tensor<4x3x2xf32>, %arg1: tensor<4x2x2xf32>, %arg2: tensor<2xi32>) -> tensor<4x3x4x2xf32> {
    %0 = "chlo.ragged_dot"(%arg0, %arg1, %arg2) {ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_batching_dimensions = [0], rhs_batching_dimensions = [-1], lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [1], lhs_ragged_dimensions = [0], rhs_group_dimensions = []>} : (tensor<4x3x2xf32>, tensor<4x2x2xf32>, tensor<2xi32>) -> tensor<4x3x4x2xf32>
    "func.return"(%0) : (tensor<4x3x4x2xf32>) -> ()
  }
}
// -----
// chlo.ragged_dot C8: 0 <= rhs_contracting_dimensions < rank(rhs)
module {
  func.func @main(%arg0: tensor<5x2xf32>, %arg1: tensor<3x2x4xf32>, %arg2: tensor<3xi32>) -> tensor<5x2x4xf32> {
    %0 = "chlo.ragged_dot"(%arg0, %arg1, %arg2) {ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_batching_dimensions = [], rhs_batching_dimensions = [], lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [-1], lhs_ragged_dimensions = [0], rhs_group_dimensions = [0]>} : (tensor<5x2xf32>, tensor<3x2x4xf32>, tensor<3xi32>) -> tensor<5x2x4xf32>
    "func.return"(%0) : (tensor<5x2x4xf32>) -> ()
  }
}
// -----
// chlo.ragged_dot C9: dim(lhs, lhs_batching_dimensions...) = dim(rhs, rhs_batching_dimensions...)
module {
  func.func @main(%arg0: tensor<4x3x2xf32>, %arg1: tensor<4x2x2xf32>, %arg2: tensor<2xi32>) -> tensor<4x3x4xf32> {
    %0 = "chlo.ragged_dot"(%arg0, %arg1, %arg2) {ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_batching_dimensions = [0], rhs_batching_dimensions = [2], lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [1], lhs_ragged_dimensions = [0], rhs_group_dimensions = []>} : (tensor<4x3x2xf32>, tensor<4x2x2xf32>, tensor<2xi32>) -> tensor<4x3x4xf32>
    "func.return"(%0) : (tensor<4x3x4xf32>) -> ()
  }
}
// -----
// chlo.ragged_dot C10: dim(lhs, lhs_contracting_dimensions...) = dim(rhs, rhs_contracting_dimensions...)
module {
  func.func @main(%arg0: tensor<5x2xf32>, %arg1: tensor<3x2x4xf32>, %arg2: tensor<3xi32>) -> tensor<5x2xf32> {
    %0 = "chlo.ragged_dot"(%arg0, %arg1, %arg2) {ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_batching_dimensions = [], rhs_batching_dimensions = [], lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [2], lhs_ragged_dimensions = [0], rhs_group_dimensions = [0]>} : (tensor<5x2xf32>, tensor<3x2x4xf32>, tensor<3xi32>) -> tensor<5x2xf32>
    "func.return"(%0) : (tensor<5x2xf32>) -> ()
  }
}
// -----
// chlo.ragged_dot C11: size(precision_config) = 2; exporters also leave it empty
module {
  func.func @main(%arg0: tensor<5x2xf32>, %arg1: tensor<3x2x4xf32>, %arg2: tensor<3xi32>) -> tensor<5x4xf32> {
    %0 = "chlo.ragged_dot"(%arg0, %arg1, %arg2) {precision_config = [#chlo<precision HIGHEST>, #chlo<precision HIGHEST>, #chlo<precision HIGHEST>], ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_batching_dimensions = [], rhs_batching_dimensions = [], lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [1], lhs_ragged_dimensions = [0], rhs_group_dimensions = [0]>} : (tensor<5x2xf32>, tensor<3x2x4xf32>, tensor<3xi32>) -> tensor<5x4xf32>
    "func.return"(%0) : (tensor<5x4xf32>) -> ()
  }
}
// -----
// chlo.ragged_dot C12: size(lhs_ragged_dimensions) = 1
module {
  func.func @main(%arg0: tensor<5x2xf32>, %arg1: tensor<3x2x4xf32>, %arg2: tensor<3xi32>) -> tensor<5x4xf32> {
    %0 = "chlo.ragged_dot"(%arg0, %arg1, %arg2) {ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_batching_dimensions = [], rhs_batching_dimensions = [], lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [1], lhs_ragged_dimensions = [0, 0], rhs_group_dimensions = [0]>} : (tensor<5x2xf32>, tensor<3x2x4xf32>, tensor<3xi32>) -> tensor<5x4xf32>
    "func.return"(%0) : (tensor<5x4xf32>) -> ()
  }
}
// -----
// chlo.ragged_dot C13, with others: 0 <= lhs_ragged_dimensions < rank(lhs)
module {
  func.func @main(%arg0: tensor<5x2xf32>, %arg1: tensor<3x2x4xf32>, %arg2: tensor<3xi32>) -> tensor<5x4xf32> {
    %0 = "chlo.ragged_dot"(%arg0, %arg1, %arg2) {ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_batching_dimensions = [], rhs_batching_dimensions = [], lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [1], lhs_ragged_dimensions = [-1], rhs_group_dimensions = [0]>} : (tensor<5x2xf32>, tensor<3x2x4xf32>, tensor<3xi32>) -> tensor<5x4xf32>
    "func.return"(%0) : (tensor<5x4xf32>) -> ()
  }
}
// -----
// chlo.ragged_dot C14: shape(group_sizes) = [g], or the sizes of lhs that lead to the ragged dimension, then g
module {
  func.func @main(%arg0: tensor<5x2xf32>, %arg1: tensor<3x2x4xf32>, %arg2: tensor<2x3xi32>) -> tensor<5x4xf32> {
    %0 = "chlo.ragged_dot"(%arg0, %arg1, %arg2) {ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_batching_dimensions = [], rhs_batching_dimensions = [], lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [1], lhs_ragged_dimensions = [0], rhs_group_dimensions = [0]>} : (tensor<5x2xf32>, tensor<3x2x4xf32>, tensor<2x3xi32>) -> tensor<5x4xf32>
    "func.return"(%0) : (tensor<5x4xf32>) -> ()
  }
}
// -----
// chlo.ragged_dot C15, with others: 0 <= rhs_group_dimensions < rank(rhs)
module {
  func.func @main(%arg0: tensor<5x2xf32>, %arg1: tensor<3x2x4xf32>, %arg2: tensor<3xi32>) -> tensor<5x4xf32> {
    %0 = "chlo.ragged_dot"(%arg0, %arg1, %arg2) {ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_batching_dimensions = [], rhs_batching_dimensions = [], lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [1], lhs_ragged_dimensions = [0], rhs_group_dimensions = [-1]>} : (tensor<5x2xf32>, tensor<3x2x4xf32>, tensor<3xi32>) -> tensor<5x4xf32>
    "func.return"(%0) : (tensor<5x4xf32>) -> ()
  }
}
// -----
// chlo.ragged_dot C16, with others: is_unique(concatenate(rhs_group_dimensions, rhs_batching_dimensions, rhs_contracting_dimensions))
module {
  func.func @main(%arg0: tensor<5x2xf32>, %arg1: tensor<3x2x4xf32>, %arg2: tensor<3xi32>) -> tensor<5x4xf32> {
    %0 = "chlo.ragged_dot"(%arg0, %arg1, %arg2) {ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_batching_dimensions = [], rhs_batching_dimensions = [], lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [1], lhs_ragged_dimensions = [0], rhs_group_dimensions = [1]>} : (tensor<5x2xf32>, tensor<3x2x4xf32>, tensor<3xi32>) -> tensor<5x4xf32>
    "func.return"(%0) : (tensor<5x4xf32>) -> ()
  }
}
// -----
// chlo.ragged_dot C17: size(rhs_group_dimensions) = 1 where the ragged dimension is neither batching nor contracting
module {
  func.func @main(%arg0: tensor<5x2xf32>, %arg1: tensor<3x2x4xf32>, %arg2: tensor<3xi32>) -> tensor<3x5x3x4xf32> {
    %0 = "chlo.ragged_dot"(%arg0, %arg1, %arg2) {ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_batching_dimensions = [], rhs_batching_dimensions = [], lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [1], lhs_ragged_dimensions = [1], rhs_group_dimensions = [0]>} : (tensor<5x2xf32>, tensor<3x2x4xf32>, tensor<3xi32>) -> tensor<3x5x3x4xf32>
    "func.return"(%0) : (tensor<3x5x3x4xf32>) -> ()
  }
}
// -----
// chlo.ragged_dot C18: dim(rhs, rhs_group_dimensions...) = g
module {
  func.func @main(%arg0: tensor<5x2xf32>, %arg1: tensor<3x2x4xf32>, %arg2: tensor<3xi32>) -> tensor<5x3xf32> {
    %0 = "chlo.ragged_dot"(%arg0, %arg1, %arg2) {ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_batching_dimensions = [], rhs_batching_dimensions = [], lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [1], lhs_ragged_dimensions = [0], rhs_group_dimensions = [2]>} : (tensor<5x2xf32>, tensor<3x2x4xf32>, tensor<3xi32>) -> tensor<5x3xf32>
    "func.return"(%0) : (tensor<5x3xf32>) -> ()
  }
}
// -----
// chlo.ragged_dot C19: shape(result) = the shape of the product
module {
  func.func @main(%arg0: tensor<6x2xf32>, %arg1: tensor<3x2x4xf32>, %arg2: tensor<3xi32>) -> tensor<5x4xf32> {
    %0 = "chlo.ragged_dot"(%arg0, %arg1, %arg2) {ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_batching_dimensions = [], rhs_batching_dimensions = [], lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [1], lhs_ragged_dimensions = [0], rhs_group_dimensions = [0]>} : (tensor<6x2xf32>, tensor<3x2x4xf32>, tensor<3xi32>) -> tensor<5x4xf32>
    "func.return"(%0) : (tensor<5x4xf32>) -> ()
  }
}
// -----
// chlo.ragged_dot C20: lhs and rhs have elements of one kind
module {
  func.func @main(%arg0: tensor<5x2xi32>, %arg1: tensor<3x2x4xf32>, %arg2: tensor<3xi32>) -> tensor<5x4xf32> {
    %0 = "chlo.ragged_dot"(%arg0, %arg1, %arg2) {ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_batching_dimensions = [], rhs_batching_dimensions = [], lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [1], lhs_ragged_dimensions = [0], rhs_group_dimensions = [0]>} : (tensor<5x2xi32>, tensor<3x2x4xf32>, tensor<3xi32>) -> tensor<5x4xf32>
    "func.return"(%0) : (tensor<5x4xf32>) -> ()
  }
}
// -----
// stablehlo.all_gather C1: 0 <= all_gather_dim < rank(operands)
module {
  func.func @main(%arg0: tensor<4x6xf32>) -> tensor<4x6xf32> {
    %0 = "stablehlo.all_gather"(%arg0) {all_gather_dim = -1 : i64, replica_groups = dense<[[0]]> : tensor<1x1xi64>} : (tensor<4x6xf32>) -> tensor<4x6xf32>
    "func.return"(%0) : (tensor<4x6xf32>) -> ()
  }
}
// -----
// stablehlo.all_gather C2: is_unique(replica_groups)
module {
  func.func @main(%arg0: tensor<4x6xf32>) -> tensor<8x6xf32> {
    %0 = "stablehlo.all_gather"(%arg0) {all_gather_dim = 0 : i64, replica_groups = dense<[[0, 0]]> : tensor<1x2xi64>} : (tensor<4x6xf32>) -> tensor<8x6xf32>
    "func.return"(%0) : (tensor<8x6xf32>) -> ()
  }
}
// -----
// stablehlo.all_gather C3_C4: 0 <= replica_groups < size(replica_groups), which is the number of ids of the group mode
module {
  func.func @main(%arg0: tensor<4x6xf32>) -> tensor<4x6xf32> {
    %0 = "stablehlo.all_gather"(%arg0) {all_gather_dim = 0 : i64, replica_groups = dense<[[1]]> : tensor<1x1xi64>} : (tensor<4x6xf32>) -> tensor<4x6xf32>
    "func.return"(%0) : (tensor<4x6xf32>) -> ()
  }
}
// -----
// stablehlo.all_gather C5: If use_global_device_ids = true, then channel_id > 0
module {
  func.func @main(%arg0: tensor<4x6xf32>) -> tensor<4x6xf32> {
    %0 = "stablehlo.all_gather"(%arg0) {all_gather_dim = 0 : i64, replica_groups = dense<[[0]]> : tensor<1x1xi64>, use_global_device_ids} : (tensor<4x6xf32>) -> tensor<4x6xf32>
    "func.return"(%0) : (tensor<4x6xf32>) -> ()
  }
}
// -----
// stablehlo.all_gather C6: type(results...) = type(operands...) except for dim(results..., all_gather_dim), which is dim(operands..., all_gather_dim) * dim(process_groups, 1)
module {
  func.func @main(%arg0: tensor<4x6xf32>) -> tensor<4x6xf32> {
    %0 = "stablehlo.all_gather"(%arg0) {all_gather_dim = 0 : i64, replica_groups = dense<> : tensor<1x0xi64>} : (tensor<4x6xf32>) -> tensor<4x6xf32>
    "func.return"(%0) : (tensor<4x6xf32>) -> ()
  }
}
// -----
// stablehlo.all_to_all C1: 0 <= split_dimension < rank(operands)
module {
  func.func @main(%arg0: tensor<4x6xf32>) -> tensor<4x6xf32> {
    %0 = "stablehlo.all_to_all"(%arg0) {concat_dimension = 0 : i64, replica_groups = dense<[[0]]> : tensor<1x1xi64>, split_count = 1 : i64, split_dimension = -1 : i64} : (tensor<4x6xf32>) -> tensor<4x6xf32>
    "func.return"(%0) : (tensor<4x6xf32>) -> ()
  }
}
// -----
// stablehlo.all_to_all C4, with others: 0 < split_count
module {
  func.func @main(%arg0: tensor<4x6xf32>) -> tensor<4x6xf32> {
    %0 = "stablehlo.all_to_all"(%arg0) {concat_dimension = 0 : i64, replica_groups = dense<[[0]]> : tensor<1x1xi64>, split_count = 0 : i64, split_dimension = 1 : i64} : (tensor<4x6xf32>) -> tensor<4x6xf32>
    "func.return"(%0) : (tensor<4x6xf32>) -> ()
  }
}
// -----
// stablehlo.all_to_all C2: dim(operands..., split_dimension) % split_count = 0
module {
  func.func @main(%arg0: tensor<4x7xf32>) -> tensor<8x3xf32> {
    %0 = "stablehlo.all_to_all"(%arg0) {concat_dimension = 0 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, split_count = 2 : i64, split_dimension = 1 : i64} : (tensor<4x7xf32>) -> tensor<8x3xf32>
    "func.return"(%0) : (tensor<8x3xf32>) -> ()
  }
}
// -----
// stablehlo.all_to_all C3: 0 <= concat_dimension < rank(operands)
module {
  func.func @main(%arg0: tensor<4x6xf32>) -> tensor<4x6xf32> {
    %0 = "stablehlo.all_to_all"(%arg0) {concat_dimension = -1 : i64, replica_groups = dense<[[0]]> : tensor<1x1xi64>, split_count = 1 : i64, split_dimension = 1 : i64} : (tensor<4x6xf32>) -> tensor<4x6xf32>
    "func.return"(%0) : (tensor<4x6xf32>) -> ()
  }
}
// -----
// stablehlo.all_to_all C5: is_unique(replica_groups)
module {
  func.func @main(%arg0: tensor<4x6xf32>) -> tensor<4x6xf32> {
    %0 = "stablehlo.all_to_all"(%arg0) {concat_dimension = 0 : i64, replica_groups = dense<[[0], [0]]> : tensor<2x1xi64>, split_count = 1 : i64, split_dimension = 1 : i64} : (tensor<4x6xf32>) -> tensor<4x6xf32>
    "func.return"(%0) : (tensor<4x6xf32>) -> ()
  }
}
// -----
// stablehlo.all_to_all C6_C7: 0 <= replica_groups < size(replica_groups), which is the number of ids of the group mode
module {
  func.func @main(%arg0: tensor<4x6xf32>) -> tensor<4x6xf32> {
    %0 = "stablehlo.all_to_all"(%arg0) {concat_dimension = 0 : i64, replica_groups = dense<[[1]]> : tensor<1x1xi64>, split_count = 1 : i64, split_dimension = 1 : i64} : (tensor<4x6xf32>) -> tensor<4x6xf32>
    "func.return"(%0) : (tensor<4x6xf32>) -> ()
  }
}
// -----
// stablehlo.all_to_all C8: dim(replica_groups, 1) = split_count
module {
  func.func @main(%arg0: tensor<4x6xf32>) -> tensor<8x3xf32> {
    %0 = "stablehlo.all_to_all"(%arg0) {concat_dimension = 0 : i64, replica_groups = dense<[[0]]> : tensor<1x1xi64>, split_count = 2 : i64, split_dimension = 1 : i64} : (tensor<4x6xf32>) -> tensor<8x3xf32>
    "func.return"(%0) : (tensor<8x3xf32>) -> ()
  }
}
// -----
// stablehlo.all_to_all C9: type(results...) = type(operands...) but, where split_dimension != concat_dimension, for dim(results..., split_dimension) = dim(operands..., split_dimension) / split_count and dim(results..., concat_dimension) = dim(operands..., concat_dimension) * split_count
module {
  func.func @main(%arg0: tensor<4x6xf64>) -> tensor<4x6xf32> {
    %0 = "stablehlo.all_to_all"(%arg0) {concat_dimension = 0 : i64, replica_groups = dense<[[0]]> : tensor<1x1xi64>, split_count = 1 : i64, split_dimension = 1 : i64} : (tensor<4x6xf64>) -> tensor<4x6xf32>
    "func.return"(%0) : (tensor<4x6xf32>) -> ()
  }
}
// -----
// stablehlo.collective_broadcast C1: is_unique(replica_groups)
module {
  func.func @main(%arg0: tensor<4x6xf32>) -> tensor<4x6xf32> {
    %0 = "stablehlo.collective_broadcast"(%arg0) {replica_groups = dense<[[0, 0]]> : tensor<1x2xi64>} : (tensor<4x6xf32>) -> tensor<4x6xf32>
    "func.return"(%0) : (tensor<4x6xf32>) -> ()
  }
}
// -----
// stablehlo.collective_broadcast C2: 0 <= replica_groups < N, the number of ids of the group mode
module {
  func.func @main(%arg0: tensor<4x6xf32>) -> tensor<4x6xf32> {
    %0 = "stablehlo.collective_broadcast"(%arg0) {replica_groups = dense<[[-1]]> : tensor<1x1xi64>} : (tensor<4x6xf32>) -> tensor<4x6xf32>
    "func.return"(%0) : (tensor<4x6xf32>) -> ()
  }
}
// -----
// stablehlo.collective_broadcast C3: If has_dynamic_root = false, size(operands) >= 1 and type(results[j]) = type(operands[j])
module {
  func.func @main(%arg0: tensor<4x6xf64>) -> tensor<4x6xf32> {
    %0 = "stablehlo.collective_broadcast"(%arg0) {replica_groups = dense<[[0]]> : tensor<1x1xi64>} : (tensor<4x6xf64>) -> tensor<4x6xf32>
    "func.return"(%0) : (tensor<4x6xf32>) -> ()
  }
}
// -----
// stablehlo.collective_broadcast C4: If has_dynamic_root = true, size(operands) >= 2, the last operand is a tensor<[size(operands)-1]xi32> and type(results[j]) = type(operands[j]) for the others
module {
  func.func @main(%arg0: tensor<4x6xf32>) {
    "stablehlo.collective_broadcast"(%arg0) {has_dynamic_root, replica_groups = dense<[[0]]> : tensor<1x1xi64>} : (tensor<4x6xf32>) -> ()
    "func.return"() : () -> ()
  }
}
// -----
// stablehlo.collective_broadcast C5: size(results) = size(operands) - (has_dynamic_root ? 1 : 0)
module {
  func.func @main(%arg0: tensor<4x6xf32>, %arg1: tensor<4x6xf32>) -> tensor<4x6xf32> {
    %0 = "stablehlo.collective_broadcast"(%arg0, %arg1) {replica_groups = dense<[[0]]> : tensor<1x1xi64>} : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>
    "func.return"(%0) : (tensor<4x6xf32>) -> ()
  }
}
// -----
// stablehlo.collective_permute C1: dim(source_target_pairs, 1) = 2
module {
  func.func @main(%arg0: tensor<4x6xf32>) -> tensor<4x6xf32> {
    %0 = "stablehlo.collective_permute"(%arg0) {source_target_pairs = dense<[[0, 0, 0]]> : tensor<1x3xi64>} : (tensor<4x6xf32>) -> tensor<4x6xf32>
    "func.return"(%0) : (tensor<4x6xf32>) -> ()
  }
}
// -----
// stablehlo.collective_permute C2: is_unique(source_target_pairs[:, 0])
module {
  func.func @main(%arg0: tensor<4x6xf32>) -> tensor<4x6xf32> {
    %0 = "stablehlo.collective_permute"(%arg0) {source_target_pairs = dense<[[1, 1], [1, 0]]> : tensor<2x2xi64>} : (tensor<4x6xf32>) -> tensor<4x6xf32>
    "func.return"(%0) : (tensor<4x6xf32>) -> ()
  }
}
// -----
// stablehlo.collective_permute C3: is_unique(source_target_pairs[:, 1])
module {
  func.func @main(%arg0: tensor<4x6xf32>) -> tensor<4x6xf32> {
    %0 = "stablehlo.collective_permute"(%arg0) {source_target_pairs = dense<[[0, 0], [1, 0]]> : tensor<2x2xi64>} : (tensor<4x6xf32>) -> tensor<4x6xf32>
    "func.return"(%0) : (tensor<4x6xf32>) -> ()
  }
}
// -----
// stablehlo.collective_permute C4: 0 <= source_target_pairs < N, the number of ids of the group mode
module {
  func.func @main(%arg0: tensor<4x6xf32>) -> tensor<4x6xf32> {
    %0 = "stablehlo.collective_permute"(%arg0) {source_target_pairs = dense<[[-1, 0]]> : tensor<1x2xi64>} : (tensor<4x6xf32>) -> tensor<4x6xf32>
    "func.return"(%0) : (tensor<4x6xf32>) -> ()
  }
}
// -----
// stablehlo.collective_permute C5: type(result) = type(operand)
module {
  func.func @main(%arg0: tensor<4x6xf64>) -> tensor<4x6xf32> {
    %0 = "stablehlo.collective_permute"(%arg0) {source_target_pairs = dense<[[0, 0]]> : tensor<1x2xi64>} : (tensor<4x6xf64>) -> tensor<4x6xf32>
    "func.return"(%0) : (tensor<4x6xf32>) -> ()
  }
}
// -----
// stablehlo.all_reduce C1: is_unique(replica_groups)
module {
  func.func @main(%arg0: tensor<4x6xf32>) -> tensor<4x6xf32> {
    %0 = "stablehlo.all_reduce"(%arg0) ({
    ^bb0(%arg1: tensor<f32>, %arg2: tensor<f32>):
      %1 = "stablehlo.maximum"(%arg1, %arg2) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%1) : (tensor<f32>) -> ()
    }) {replica_groups = dense<[[0, 0]]> : tensor<1x2xi64>} : (tensor<4x6xf32>) -> tensor<4x6xf32>
    "func.return"(%0) : (tensor<4x6xf32>) -> ()
  }
}
// -----
// stablehlo.all_reduce C2_C3: 0 <= replica_groups < size(replica_groups), which is the number of ids of the group mode
module {
  func.func @main(%arg0: tensor<4x6xf32>) -> tensor<4x6xf32> {
    %0 = "stablehlo.all_reduce"(%arg0) ({
    ^bb0(%arg1: tensor<f32>, %arg2: tensor<f32>):
      %1 = "stablehlo.maximum"(%arg1, %arg2) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%1) : (tensor<f32>) -> ()
    }) {replica_groups = dense<[[1]]> : tensor<1x1xi64>} : (tensor<4x6xf32>) -> tensor<4x6xf32>
    "func.return"(%0) : (tensor<4x6xf32>) -> ()
  }
}
// -----
// stablehlo.all_reduce C4: If use_global_device_ids = true, then channel_id > 0
module {
  func.func @main(%arg0: tensor<4x6xf32>) -> tensor<4x6xf32> {
    %0 = "stablehlo.all_reduce"(%arg0) ({
    ^bb0(%arg1: tensor<f32>, %arg2: tensor<f32>):
      %1 = "stablehlo.maximum"(%arg1, %arg2) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%1) : (tensor<f32>) -> ()
    }) {replica_groups = dense<[[0]]> : tensor<1x1xi64>, use_global_device_ids} : (tensor<4x6xf32>) -> tensor<4x6xf32>
    "func.return"(%0) : (tensor<4x6xf32>) -> ()
  }
}
// -----
// stablehlo.all_reduce C5: computation has type (tensor<E>, tensor<E>) -> tensor<E>, and is_promotable(element_type(operand), E)
module {
  func.func @main(%arg0: tensor<4x6xf64>) -> tensor<4x6xf32> {
    %0 = "stablehlo.all_reduce"(%arg0) ({
    ^bb0(%arg1: tensor<f32>, %arg2: tensor<f32>):
      %1 = "stablehlo.maximum"(%arg1, %arg2) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%1) : (tensor<f32>) -> ()
    }) {replica_groups = dense<[[0]]> : tensor<1x1xi64>} : (tensor<4x6xf64>) -> tensor<4x6xf32>
    "func.return"(%0) : (tensor<4x6xf32>) -> ()
  }
}
// -----
// stablehlo.all_reduce C6: shape(results...) = shape(operands...)
module {
  func.func @main(%arg0: tensor<5x6xf32>) -> tensor<4x6xf32> {
    %0 = "stablehlo.all_reduce"(%arg0) ({
    ^bb0(%arg1: tensor<f32>, %arg2: tensor<f32>):
      %1 = "stablehlo.maximum"(%arg1, %arg2) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%1) : (tensor<f32>) -> ()
    }) {replica_groups = dense<[[0]]> : tensor<1x1xi64>} : (tensor<5x6xf32>) -> tensor<4x6xf32>
    "func.return"(%0) : (tensor<4x6xf32>) -> ()
  }
}
// -----
// stablehlo.all_reduce C7: element_type(results) = E
module {
  func.func @main(%arg0: tensor<4x6xf32>) -> tensor<4x6xf64> {
    %0 = "stablehlo.all_reduce"(%arg0) ({
    ^bb0(%arg1: tensor<f32>, %arg2: tensor<f32>):
      %1 = "stablehlo.maximum"(%arg1, %arg2) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%1) : (tensor<f32>) -> ()
    }) {replica_groups = dense<[[0]]> : tensor<1x1xi64>} : (tensor<4x6xf32>) -> tensor<4x6xf64>
    "func.return"(%0) : (tensor<4x6xf64>) -> ()
  }
}
// -----
// stablehlo.reduce_scatter C2: 0 <= scatter_dimension < rank(operand)
module {
  func.func @main(%arg0: tensor<4x6xf32>) -> tensor<4x6xf32> {
    %0 = "stablehlo.reduce_scatter"(%arg0) ({
    ^bb0(%arg1: tensor<f32>, %arg2: tensor<f32>):
      %1 = "stablehlo.maximum"(%arg1, %arg2) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%1) : (tensor<f32>) -> ()
    }) {replica_groups = dense<[[0]]> : tensor<1x1xi64>, scatter_dimension = -1 : i64} : (tensor<4x6xf32>) -> tensor<4x6xf32>
    "func.return"(%0) : (tensor<4x6xf32>) -> ()
  }
}
// -----
// stablehlo.reduce_scatter C1: dim(operand, scatter_dimension) % dim(process_groups, 1) = 0
module {
  func.func @main(%arg0: tensor<4x6xf32>) -> tensor<4x6xf32> {
    %0 = "stablehlo.reduce_scatter"(%arg0) ({
    ^bb0(%arg1: tensor<f32>, %arg2: tensor<f32>):
      %1 = "stablehlo.maximum"(%arg1, %arg2) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%1) : (tensor<f32>) -> ()
    }) {replica_groups = dense<> : tensor<1x0xi64>, scatter_dimension = 1 : i64} : (tensor<4x6xf32>) -> tensor<4x6xf32>
    "func.return"(%0) : (tensor<4x6xf32>) -> ()
  }
}
// -----
// stablehlo.reduce_scatter C3: is_unique(replica_groups)
module {
  func.func @main(%arg0: tensor<4x6xf32>) -> tensor<4x3xf32> {
    %0 = "stablehlo.reduce_scatter"(%arg0) ({
    ^bb0(%arg1: tensor<f32>, %arg2: tensor<f32>):
      %1 = "stablehlo.maximum"(%arg1, %arg2) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%1) : (tensor<f32>) -> ()
    }) {replica_groups = dense<[[0, 0]]> : tensor<1x2xi64>, scatter_dimension = 1 : i64} : (tensor<4x6xf32>) -> tensor<4x3xf32>
    "func.return"(%0) : (tensor<4x3xf32>) -> ()
  }
}
// -----
// stablehlo.reduce_scatter C4_C5: 0 <= replica_groups < size(replica_groups), which is the number of ids of the group mode
module {
  func.func @main(%arg0: tensor<4x6xf32>) -> tensor<4x6xf32> {
    %0 = "stablehlo.reduce_scatter"(%arg0) ({
    ^bb0(%arg1: tensor<f32>, %arg2: tensor<f32>):
      %1 = "stablehlo.maximum"(%arg1, %arg2) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%1) : (tensor<f32>) -> ()
    }) {replica_groups = dense<[[1]]> : tensor<1x1xi64>, scatter_dimension = 1 : i64} : (tensor<4x6xf32>) -> tensor<4x6xf32>
    "func.return"(%0) : (tensor<4x6xf32>) -> ()
  }
}
// -----
// stablehlo.reduce_scatter C6: If use_global_device_ids = true, then channel_id > 0
module {
  func.func @main(%arg0: tensor<4x6xf32>) -> tensor<4x6xf32> {
    %0 = "stablehlo.reduce_scatter"(%arg0) ({
    ^bb0(%arg1: tensor<f32>, %arg2: tensor<f32>):
      %1 = "stablehlo.maximum"(%arg1, %arg2) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%1) : (tensor<f32>) -> ()
    }) {replica_groups = dense<[[0]]> : tensor<1x1xi64>, scatter_dimension = 1 : i64, use_global_device_ids} : (tensor<4x6xf32>) -> tensor<4x6xf32>
    "func.return"(%0) : (tensor<4x6xf32>) -> ()
  }
}
// -----
// stablehlo.reduce_scatter C7: computation has type (tensor<E>, tensor<E>) -> tensor<E>, and is_promotable(element_type(operand), E)
module {
  func.func @main(%arg0: tensor<4x6xf64>) -> tensor<4x6xf32> {
    %0 = "stablehlo.reduce_scatter"(%arg0) ({
    ^bb0(%arg1: tensor<f32>, %arg2: tensor<f32>):
      %1 = "stablehlo.maximum"(%arg1, %arg2) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%1) : (tensor<f32>) -> ()
    }) {replica_groups = dense<[[0]]> : tensor<1x1xi64>, scatter_dimension = 1 : i64} : (tensor<4x6xf64>) -> tensor<4x6xf32>
    "func.return"(%0) : (tensor<4x6xf32>) -> ()
  }
}
// -----
// stablehlo.reduce_scatter C8: shape(result) = shape(operand) except for dim(result, scatter_dimension), which is dim(operand, scatter_dimension) / dim(process_groups, 1)
module {
  func.func @main(%arg0: tensor<4x6xf32>) -> tensor<4x6xf32> {
    %0 = "stablehlo.reduce_scatter"(%arg0) ({
    ^bb0(%arg1: tensor<f32>, %arg2: tensor<f32>):
      %1 = "stablehlo.maximum"(%arg1, %arg2) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%1) : (tensor<f32>) -> ()
    }) {replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, scatter_dimension = 1 : i64} : (tensor<4x6xf32>) -> tensor<4x6xf32>
    "func.return"(%0) : (tensor<4x6xf32>) -> ()
  }
}
// -----
// stablehlo.reduce_scatter C9: element_type(result) = E
module {
  func.func @main(%arg0: tensor<4x6xf32>) -> tensor<4x6xf64> {
    %0 = "stablehlo.reduce_scatter"(%arg0) ({
    ^bb0(%arg1: tensor<f32>, %arg2: tensor<f32>):
      %1 = "stablehlo.maximum"(%arg1, %arg2) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%1) : (tensor<f32>) -> ()
    }) {replica_groups = dense<[[0]]> : tensor<1x1xi64>, scatter_dimension = 1 : i64} : (tensor<4x6xf32>) -> tensor<4x6xf64>
    "func.return"(%0) : (tensor<4x6xf64>) -> ()
  }
}
// -----
// stablehlo.collective_reduce C1: is_unique(replica_groups)
module {
  func.func @main(%arg0: tensor<4x6xf32>) -> tensor<4x6xf32> {
    %0 = "stablehlo.collective_reduce"(%arg0) ({
    ^bb0(%arg1: tensor<f32>, %arg2: tensor<f32>):
      %1 = "stablehlo.maximum"(%arg1, %arg2) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%1) : (tensor<f32>) -> ()
    }) {replica_groups = dense<[[0, 0]]> : tensor<1x2xi64>} : (tensor<4x6xf32>) -> tensor<4x6xf32>
    "func.return"(%0) : (tensor<4x6xf32>) -> ()
  }
}
// -----
// stablehlo.collective_reduce C2: 0 <= replica_groups < N, the number of ids of the group mode
module {
  func.func @main(%arg0: tensor<4x6xf32>) -> tensor<4x6xf32> {
    %0 = "stablehlo.collective_reduce"(%arg0) ({
    ^bb0(%arg1: tensor<f32>, %arg2: tensor<f32>):
      %1 = "stablehlo.maximum"(%arg1, %arg2) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%1) : (tensor<f32>) -> ()
    }) {replica_groups = dense<[[-2]]> : tensor<1x1xi64>} : (tensor<4x6xf32>) -> tensor<4x6xf32>
    "func.return"(%0) : (tensor<4x6xf32>) -> ()
  }
}
// -----
// stablehlo.collective_reduce C3: shape(results...) = shape(operands...), without the last operand where has_dynamic_root = true, which names a root for each of the others
module {
  func.func @main(%arg0: tensor<4x6xf32>) -> tensor<4x6xf32> {
    %0 = "stablehlo.collective_reduce"(%arg0) ({
    ^bb0(%arg1: tensor<f32>, %arg2: tensor<f32>):
      %1 = "stablehlo.maximum"(%arg1, %arg2) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%1) : (tensor<f32>) -> ()
    }) {has_dynamic_root, replica_groups = dense<[[0]]> : tensor<1x1xi64>} : (tensor<4x6xf32>) -> tensor<4x6xf32>
    "func.return"(%0) : (tensor<4x6xf32>) -> ()
  }
}
// -----
// stablehlo.collective_reduce C4: computation has type (tensor<E>, tensor<E>) -> tensor<E>, and is_promotable(element_type(operand), E)
module {
  func.func @main(%arg0: tensor<4x6xf64>) -> tensor<4x6xf32> {
    %0 = "stablehlo.collective_reduce"(%arg0) ({
    ^bb0(%arg1: tensor<f32>, %arg2: tensor<f32>):
      %1 = "stablehlo.maximum"(%arg1, %arg2) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%1) : (tensor<f32>) -> ()
    }) {replica_groups = dense<[[0]]> : tensor<1x1xi64>} : (tensor<4x6xf64>) -> tensor<4x6xf32>
    "func.return"(%0) : (tensor<4x6xf32>) -> ()
  }
}
// -----
// stablehlo.send C1: dim(source_target_pairs, 1) = 2
module {
  func.func @main(%arg0: tensor<4x6xf32>) {
    %0 = "stablehlo.after_all"() : () -> !stablehlo.token
    %1 = "stablehlo.send"(%arg0, %0) {channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, is_host_transfer = false, source_target_pairs = dense<[[0, 1, 0], [1, 0, 5]]> : tensor<2x3xi64>} : (tensor<4x6xf32>, !stablehlo.token) -> !stablehlo.token
    "func.return"() : () -> ()
  }
}
// -----
// stablehlo.send C2: is_unique(source_target_pairs[:, 0])
module {
  func.func @main(%arg0: tensor<4x6xf32>) {
    %0 = "stablehlo.after_all"() : () -> !stablehlo.token
    %1 = "stablehlo.send"(%arg0, %0) {channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, is_host_transfer = false, source_target_pairs = dense<[[1, 1], [1, 0]]> : tensor<2x2xi64>} : (tensor<4x6xf32>, !stablehlo.token) -> !stablehlo.token
    "func.return"() : () -> ()
  }
}
// -----
// stablehlo.send C3: is_unique(source_target_pairs[:, 1])
module {
  func.func @main(%arg0: tensor<4x6xf32>) {
    %0 = "stablehlo.after_all"() : () -> !stablehlo.token
    %1 = "stablehlo.send"(%arg0, %0) {channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, is_host_transfer = false, source_target_pairs = dense<[[0, 0], [1, 0]]> : tensor<2x2xi64>} : (tensor<4x6xf32>, !stablehlo.token) -> !stablehlo.token
    "func.return"() : () -> ()
  }
}
// -----
// stablehlo.send C4: 0 <= source_target_pairs < N, the number of ids of the group mode
module {
  func.func @main(%arg0: tensor<4x6xf32>) {
    %0 = "stablehlo.after_all"() : () -> !stablehlo.token
    %1 = "stablehlo.send"(%arg0, %0) {channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, is_host_transfer = false, source_target_pairs = dense<[[-1, 1], [1, 0]]> : tensor<2x2xi64>} : (tensor<4x6xf32>, !stablehlo.token) -> !stablehlo.token
    "func.return"() : () -> ()
  }
}
// -----
// stablehlo.send C5: channel_type is DEVICE_TO_HOST where is_host_transfer = true, DEVICE_TO_DEVICE otherwise
module {
  func.func @main(%arg0: tensor<4x6xf32>) {
    %0 = "stablehlo.after_all"() : () -> !stablehlo.token
    %1 = "stablehlo.send"(%arg0, %0) {channel_handle = #stablehlo.channel_handle<handle = 1, type = 2>, is_host_transfer = false, source_target_pairs = dense<[[0, 1], [1, 0]]> : tensor<2x2xi64>} : (tensor<4x6xf32>, !stablehlo.token) -> !stablehlo.token
    "func.return"() : () -> ()
  }
}
// -----
// stablehlo.recv C1: dim(source_target_pairs, 1) = 2
module {
  func.func @main() -> tensor<4x6xf32> {
    %0 = "stablehlo.after_all"() : () -> !stablehlo.token
    %1:2 = "stablehlo.recv"(%0) {channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, is_host_transfer = false, source_target_pairs = dense<[[0, 1, 0], [1, 0, 5]]> : tensor<2x3xi64>} : (!stablehlo.token) -> (tensor<4x6xf32>, !stablehlo.token)
    "func.return"(%1#0) : (tensor<4x6xf32>) -> ()
  }
}
// -----
// stablehlo.recv C2: is_unique(source_target_pairs[:, 0])
module {
  func.func @main() -> tensor<4x6xf32> {
    %0 = "stablehlo.after_all"() : () -> !stablehlo.token
    %1:2 = "stablehlo.recv"(%0) {channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, is_host_transfer = false, source_target_pairs = dense<[[1, 1], [1, 0]]> : tensor<2x2xi64>} : (!stablehlo.token) -> (tensor<4x6xf32>, !stablehlo.token)
    "func.return"(%1#0) : (tensor<4x6xf32>) -> ()
  }
}
// -----
// stablehlo.recv C3: is_unique(source_target_pairs[:, 1])
module {
  func.func @main() -> tensor<4x6xf32> {
    %0 = "stablehlo.after_all"() : () -> !stablehlo.token
    %1:2 = "stablehlo.recv"(%0) {channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, is_host_transfer = false, source_target_pairs = dense<[[0, 0], [1, 0]]> : tensor<2x2xi64>} : (!stablehlo.token) -> (tensor<4x6xf32>, !stablehlo.token)
    "func.return"(%1#0) : (tensor<4x6xf32>) -> ()
  }
}
// -----
// stablehlo.recv C4: 0 <= source_target_pairs < N, the number of ids of the group mode
module {
  func.func @main() -> tensor<4x6xf32> {
    %0 = "stablehlo.after_all"() : () -> !stablehlo.token
    %1:2 = "stablehlo.recv"(%0) {channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, is_host_transfer = false, source_target_pairs = dense<[[-1, 1], [1, 0]]> : tensor<2x2xi64>} : (!stablehlo.token) -> (tensor<4x6xf32>, !stablehlo.token)
    "func.return"(%1#0) : (tensor<4x6xf32>) -> ()
  }
}
// -----
// stablehlo.recv C5: channel_type is that of a transfer with the host where is_host_transfer = true (the text of the specification says DEVICE_TO_HOST, its dialect HOST_TO_DEVICE), DEVICE_TO_DEVICE otherwise
module {
  func.func @main() -> tensor<4x6xf32> {
    %0 = "stablehlo.after_all"() : () -> !stablehlo.token
    %1:2 = "stablehlo.recv"(%0) {channel_handle = #stablehlo.channel_handle<handle = 1, type = 2>, is_host_transfer = false, source_target_pairs = dense<[[0, 1], [1, 0]]> : tensor<2x2xi64>} : (!stablehlo.token) -> (tensor<4x6xf32>, !stablehlo.token)
    "func.return"(%1#0) : (tensor<4x6xf32>) -> ()
  }
}
// -----
// stablehlo.infeed C1, with others: 0 < size(results)
module {
  func.func @main() {
    %0 = "stablehlo.after_all"() : () -> !stablehlo.token
    "stablehlo.infeed"(%0) {infeed_config = "x"} : (!stablehlo.token) -> ()
    "func.return"() : () -> ()
  }
}
// -----
// stablehlo.infeed C2, with others: is_empty(results[:-1]) or is_tensor(type(results[:-1]))
module {
  func.func @main() {
    %0 = "stablehlo.after_all"() : () -> !stablehlo.token
    %1:2 = "stablehlo.infeed"(%0) {infeed_config = "x"} : (!stablehlo.token) -> (!stablehlo.token, !stablehlo.token)
    "func.return"() : () -> ()
  }
}
// -----
// stablehlo.infeed C3: is_token(type(results[-1]))
module {
  func.func @main() -> (tensor<4x6xf32>, tensor<2xf32>) {
    %0 = "stablehlo.after_all"() : () -> !stablehlo.token
    %1:2 = "stablehlo.infeed"(%0) {infeed_config = "x"} : (!stablehlo.token) -> (tensor<4x6xf32>, tensor<2xf32>)
    "func.return"(%1#0, %1#1) : (tensor<4x6xf32>, tensor<2xf32>) -> ()
  }
}
// -----
// stablehlo.async_start C1: body must contain a single operation and a return
module {
  func.func @main(%arg0: tensor<3xf32>) -> tensor<3xf32> {
    %0 = "stablehlo.async_start"(%arg0) ({
    ^bb0(%arg1: tensor<3xf32>):
      %1 = "stablehlo.slice"(%arg1) {limit_indices = array<i64: 3>, start_indices = array<i64: 0>, strides = array<i64: 1>} : (tensor<3xf32>) -> tensor<3xf32>
      %2 = "stablehlo.slice"(%arg1) {limit_indices = array<i64: 3>, start_indices = array<i64: 0>, strides = array<i64: 1>} : (tensor<3xf32>) -> tensor<3xf32>
      "stablehlo.return"(%2) : (tensor<3xf32>) -> ()
    }) : (tensor<3xf32>) -> !stablehlo.future<tensor<3xf32>>
    %3 = "stablehlo.async_done"(%0) : (!stablehlo.future<tensor<3xf32>>) -> tensor<3xf32>
    "func.return"(%3) : (tensor<3xf32>) -> ()
  }
}
// -----
// stablehlo.async_start C2: The operation in body can only be a collective or a slice
module {
  func.func @main(%arg0: tensor<3xf32>) -> tensor<3xf32> {
    %0 = "stablehlo.async_start"(%arg0) ({
    ^bb0(%arg1: tensor<3xf32>):
      %1 = "stablehlo.negate"(%arg1) : (tensor<3xf32>) -> tensor<3xf32>
      "stablehlo.return"(%1) : (tensor<3xf32>) -> ()
    }) : (tensor<3xf32>) -> !stablehlo.future<tensor<3xf32>>
    %2 = "stablehlo.async_done"(%0) : (!stablehlo.future<tensor<3xf32>>) -> tensor<3xf32>
    "func.return"(%2) : (tensor<3xf32>) -> ()
  }
}
// -----
// stablehlo.async_start C3: The arguments to async_start must match the ones passed to the operation in body
module {
  func.func @main(%arg0: tensor<3xf64>) -> tensor<3xf32> {
    %0 = "stablehlo.async_start"(%arg0) ({
    ^bb0(%arg1: tensor<3xf32>):
      %1 = "stablehlo.slice"(%arg1) {limit_indices = array<i64: 3>, start_indices = array<i64: 0>, strides = array<i64: 1>} : (tensor<3xf32>) -> tensor<3xf32>
      "stablehlo.return"(%1) : (tensor<3xf32>) -> ()
    }) : (tensor<3xf64>) -> !stablehlo.future<tensor<3xf32>>
    %2 = "stablehlo.async_done"(%0) : (!stablehlo.future<tensor<3xf32>>) -> tensor<3xf32>
    "func.return"(%2) : (tensor<3xf32>) -> ()
  }
}
// -----
// stablehlo.async_start C4: If the op in body returns type T, then async_start returns future<T>
module {
  func.func @main(%arg0: tensor<3xf32>) -> tensor<3xf64> {
    %0 = "stablehlo.async_start"(%arg0) ({
    ^bb0(%arg1: tensor<3xf32>):
      %1 = "stablehlo.slice"(%arg1) {limit_indices = array<i64: 3>, start_indices = array<i64: 0>, strides = array<i64: 1>} : (tensor<3xf32>) -> tensor<3xf32>
      "stablehlo.return"(%1) : (tensor<3xf32>) -> ()
    }) : (tensor<3xf32>) -> !stablehlo.future<tensor<3xf64>>
    %2 = "stablehlo.async_done"(%0) : (!stablehlo.future<tensor<3xf64>>) -> tensor<3xf64>
    "func.return"(%2) : (tensor<3xf64>) -> ()
  }
}
// -----
// stablehlo.async_done C1: If async_done receives a future<T>, then async_done returns T
module {
  func.func @main(%arg0: tensor<3xf64>) -> tensor<3xf32> {
    %0 = "stablehlo.async_start"(%arg0) ({
    ^bb0(%arg1: tensor<3xf64>):
      %1 = "stablehlo.slice"(%arg1) {limit_indices = array<i64: 3>, start_indices = array<i64: 0>, strides = array<i64: 1>} : (tensor<3xf64>) -> tensor<3xf64>
      "stablehlo.return"(%1) : (tensor<3xf64>) -> ()
    }) : (tensor<3xf64>) -> !stablehlo.future<tensor<3xf64>>
    %2 = "stablehlo.async_done"(%0) : (!stablehlo.future<tensor<3xf64>>) -> tensor<3xf32>
    "func.return"(%2) : (tensor<3xf32>) -> ()
  }
}
// -----
// stablehlo.composite C1: is_namespaced_op_name(name)
module {
  func.func private @decomposition(%arg0: tensor<3xf32>) -> (tensor<3xf32>, tensor<3xf32>) {
    "func.return"(%arg0, %arg0) : (tensor<3xf32>, tensor<3xf32>) -> ()
  }
  func.func @main(%arg0: tensor<3xf32>) -> (tensor<3xf32>, tensor<3xf32>) {
    %0:2 = "stablehlo.composite"(%arg0) {decomposition = @decomposition, name = "conformance_twice"} : (tensor<3xf32>) -> (tensor<3xf32>, tensor<3xf32>)
    "func.return"(%0#0, %0#1) : (tensor<3xf32>, tensor<3xf32>) -> ()
  }
}
