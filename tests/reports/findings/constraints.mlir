// Report: a comparison of floats as signed integers is accepted
// Rule: specification, "compare", constraint C3: compare_type is FLOAT or TOTALORDER if is_float(element_type(lhs)).
// Input: dense<1.0> : tensor<1xf32>
// Right: VerifyError (C3)
func.func @main(%x: tensor<1xf32>) -> tensor<1xi1> {
  %0 = stablehlo.compare EQ, %x, %x, SIGNED : (tensor<1xf32>, tensor<1xf32>) -> tensor<1xi1>
  return %0 : tensor<1xi1>
}
// -----
// Report: a list of window strides may be empty
// Rule: specification, "reduce_window", constraint C6: "size(window_strides) = rank(inputs[0])".
// Input: dense<[1.0, 2.0]> : tensor<2xf32>, dense<0.0> : tensor<f32>
// Right: VerifyError (C6)
func.func @main(%x: tensor<2xf32>, %z: tensor<f32>) -> tensor<1xf32> {
  %0 = "stablehlo.reduce_window"(%x, %z) ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) {window_dimensions = array<i64: 2>, window_strides = array<i64>} : (tensor<2xf32>, tensor<f32>) -> tensor<1xf32>
  return %0 : tensor<1xf32>
}
// -----
// Report: the initial value of a reduction may have another element type than the input
// Rule: specification, "reduce", constraint C2: "element_type(init_values...) = element_type(inputs...)".
// Input: dense<[1.0, 2.0]> : tensor<2xf32>, dense<0.0> : tensor<f64>
// Right: VerifyError (C2)
func.func @main(%x: tensor<2xf32>, %z: tensor<f64>) -> tensor<f64> {
  %0 = "stablehlo.reduce"(%x, %z) ({
  ^bb0(%a: tensor<f64>, %b: tensor<f64>):
    %s = stablehlo.add %a, %b : tensor<f64>
    stablehlo.return %s : tensor<f64>
  }) {dimensions = array<i64: 0>} : (tensor<2xf32>, tensor<f64>) -> tensor<f64>
  return %0 : tensor<f64>
}
