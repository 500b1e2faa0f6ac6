// Report: a conversion of NaN or infinity to an integer gives different values on each path
// Rule: docs/numerics.md: NaN converts to 0, and numbers out of range to the nearest integer ("convert").
// Input: dense<[0x7FC00000, 0x7F800000, 0xFF800000, 3.0e+10]> : tensor<4xf32>
// Right: dense<[0, 2147483647, -2147483648, 2147483647]> : tensor<4xi32>
func.func @main(%x: tensor<4xf32>) -> tensor<4xi32> {
  %0 = stablehlo.convert %x : (tensor<4xf32>) -> tensor<4xi32>
  return %0 : tensor<4xi32>
}
// -----
// Report: a conversion of a negative float to an unsigned integer wraps
// Rule: docs/numerics.md: numbers out of range convert to the nearest integer ("convert").
// Input: dense<[-1.0, 256.0, 255.9, -0.5]> : tensor<4xf32>
// Right: dense<[0, 255, 255, 0]> : tensor<4xui8>
func.func @main(%x: tensor<4xf32>) -> tensor<4xui8> {
  %0 = stablehlo.convert %x : (tensor<4xf32>) -> tensor<4xui8>
  return %0 : tensor<4xui8>
}
// -----
// Report: a conversion to i1 truncates 0.5 to false
// Rule: specification, "convert": to boolean, zero is false and everything else is true; NaN is not zero.
// Input: dense<[0.5, -0.0, 0x7FC00000, 1.0e-45]> : tensor<4xf32>
// Right: dense<[true, false, true, true]> : tensor<4xi1>
func.func @main(%x: tensor<4xf32>) -> tensor<4xi1> {
  %0 = stablehlo.convert %x : (tensor<4xf32>) -> tensor<4xi1>
  return %0 : tensor<4xi1>
}
// -----
// Report: large unsigned integers convert to negative floats
// Rule: specification, "convert": from an unsigned integer to the nearest float.
// Input: dense<[18446744073709551615, 9223372036854775808, 1]> : tensor<3xui64>
// Right: dense<[18446744073709551616.0, 9223372036854775808.0, 1.0]> : tensor<3xf32>
func.func @main(%x: tensor<3xui64>) -> tensor<3xf32> {
  %0 = stablehlo.convert %x : (tensor<3xui64>) -> tensor<3xf32>
  return %0 : tensor<3xf32>
}
// -----
// Report: an integer that f32 cannot hold is rounded up and down by turns
// Rule: specification, "convert": roundToIntegralTiesToEven's rule, ties to even.
// Input: dense<[16777217, 16777219, -16777217]> : tensor<3xi32>
// Right: dense<[16777216.0, 16777220.0, -16777216.0]> : tensor<3xf32>
func.func @main(%x: tensor<3xi32>) -> tensor<3xf32> {
  %0 = stablehlo.convert %x : (tensor<3xi32>) -> tensor<3xf32>
  return %0 : tensor<3xf32>
}
// -----
// Report: f32 converts to bf16 by truncation
// Rule: specification, "convert": rounding to nearest, ties to even; bits 0x3F808000 are a tie to 1.0.
// Input: dense<[0x3F808000, 0x3F818000, 0x3F808001, 0x7F7FFFFF]> : tensor<4xf32>
// Right: dense<[0x3F80, 0x3F82, 0x3F81, 0x7F80]> : tensor<4xbf16>
func.func @main(%x: tensor<4xf32>) -> tensor<4xbf16> {
  %0 = stablehlo.convert %x : (tensor<4xf32>) -> tensor<4xbf16>
  return %0 : tensor<4xbf16>
}
// -----
// Report: f64 converts to f16 by way of f32, which rounds twice
// Rule: specification, "convert": one rounding. 1 + 2^-11 + 2^-40 lies above a tie of f16, which f32 loses.
// Input: dense<[0x3FF0020000001000]> : tensor<1xf64>
// Right: dense<[0x3C01]> : tensor<1xf16>
func.func @main(%x: tensor<1xf64>) -> tensor<1xf16> {
  %0 = stablehlo.convert %x : (tensor<1xf64>) -> tensor<1xf16>
  return %0 : tensor<1xf16>
}
// -----
// Report: an overflow of an 8-bit float without infinities saturates, or becomes another number
// Rule: specification, "convert"; f8E4M3FN has no infinity: beyond 464 the nearest is NaN (docs/numerics.md).
// Input: dense<[448.0, 464.0, 465.0, 0x7F800000]> : tensor<4xf32>
// Right: dense<[0x7E, 0x7E, 0x7F, 0x7F]> : tensor<4xf8E4M3FN>
func.func @main(%x: tensor<4xf32>) -> tensor<4xf8E4M3FN> {
  %0 = stablehlo.convert %x : (tensor<4xf32>) -> tensor<4xf8E4M3FN>
  return %0 : tensor<4xf8E4M3FN>
}
// -----
// Report: f8E5M2 saturates where it has infinities
// Rule: specification, "convert": 61440 is the tie between the largest number and the next power, so infinity.
// Input: dense<[57344.0, 61440.0, 61439.0, 0x7FC00000]> : tensor<4xf32>
// Right: dense<[0x7B, 0x7C, 0x7B, 0x7E]> : tensor<4xf8E5M2>
func.func @main(%x: tensor<4xf32>) -> tensor<4xf8E5M2> {
  %0 = stablehlo.convert %x : (tensor<4xf32>) -> tensor<4xf8E5M2>
  return %0 : tensor<4xf8E5M2>
}
// -----
// Report: narrow integers are not truncated to their width
// Rule: specification, "convert": between integers bits are truncated.
// Input: dense<[300, -1, 128, -129]> : tensor<4xi32>
// Right: dense<[44, -1, -128, 127]> : tensor<4xi8>, dense<[-4, -1, 0, -1]> : tensor<4xi4>
func.func @main(%x: tensor<4xi32>) -> (tensor<4xi8>, tensor<4xi4>) {
  %0 = stablehlo.convert %x : (tensor<4xi32>) -> tensor<4xi8>
  %1 = stablehlo.convert %x : (tensor<4xi32>) -> tensor<4xi4>
  return %0, %1 : tensor<4xi8>, tensor<4xi4>
}
// -----
// Report: a complex number converts to a real one by its modulus
// Rule: specification, "convert": the imaginary part is dropped (docs/numerics.md).
// Input: dense<[(3.0, 4.0), (-1.0, 0x7FC00000)]> : tensor<2xcomplex<f32>>
// Right: dense<[3.0, -1.0]> : tensor<2xf32>
func.func @main(%x: tensor<2xcomplex<f32>>) -> tensor<2xf32> {
  %0 = stablehlo.convert %x : (tensor<2xcomplex<f32>>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}
// -----
// Report: a bitcast to a narrower type puts the high bytes first, as the machine of the report does not
// Rule: specification, "bitcast_convert": the last dimension holds the parts from the lowest bits on.
// Input: dense<[287454020]> : tensor<1xi32>
// Right: dense<[[68, 51, 34, 17]]> : tensor<1x4xi8>
func.func @main(%x: tensor<1xi32>) -> tensor<1x4xi8> {
  %0 = stablehlo.bitcast_convert %x : (tensor<1xi32>) -> tensor<1x4xi8>
  return %0 : tensor<1x4xi8>
}
// -----
// Report: a bitcast of a signalling NaN makes it quiet
// Rule: specification, "bitcast_convert": the bits stay.
// Input: dense<[2139095041]> : tensor<1xi32>
// Right: dense<[2139095041]> : tensor<1xi32>
func.func @main(%x: tensor<1xi32>) -> tensor<1xi32> {
  %0 = stablehlo.bitcast_convert %x : (tensor<1xi32>) -> tensor<1xf32>
  %1 = stablehlo.bitcast_convert %0 : (tensor<1xf32>) -> tensor<1xi32>
  return %1 : tensor<1xi32>
}
// -----
// Report: 4-bit integers are packed in another order by a bitcast
// Rule: specification, "bitcast_convert": the first element of the last dimension has the lowest bits.
// Input: dense<[[1, -2]]> : tensor<1x2xi4>
// Right: dense<[-31]> : tensor<1xi8>
func.func @main(%x: tensor<1x2xi4>) -> tensor<1xi8> {
  %0 = stablehlo.bitcast_convert %x : (tensor<1x2xi4>) -> tensor<1xi8>
  return %0 : tensor<1xi8>
}
// -----
// Report: a reduction of precision loses the carry into the exponent, or rounds ties away from zero
// Rule: specification, "reduce_precision": ties to even; 1.9999999 becomes 2, and 1.5 with no bits a tie to 2.
// Input: dense<[0x3FFFFFFF, 1.5, 1.25, -0.0]> : tensor<4xf32>
// Right: dense<[2.0, 2.0, 1.0, -0.0]> : tensor<4xf32>
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.reduce_precision %x, format = e8m0 : tensor<4xf32>
  return %0 : tensor<4xf32>
}
// -----
// Report: a reduction of precision keeps numbers beyond the narrow exponent's range, or turns NaN into infinity
// Rule: specification, "reduce_precision": overflow gives infinity, underflow zero, NaN stays.
// Input: dense<[70000.0, -1.0e+10, 1.0e-8, 0x7F800001, 65504.0]> : tensor<5xf32>
// Right: dense<[0x7F800000, 0xFF800000, 0.0, 0x7FC00000, 65504.0]> : tensor<5xf32>
func.func @main(%x: tensor<5xf32>) -> tensor<5xf32> {
  %0 = stablehlo.reduce_precision %x, format = e5m10 : tensor<5xf32>
  return %0 : tensor<5xf32>
}
// -----
// Report: quantization rounds before it adds the zero point, or does not saturate at the storage's bounds
// Rule: specification, "uniform_quantize": scale, add the zero point, clamp to the storage, round to nearest even.
// Input: dense<[0.25, 0.75, 100.0, -100.0]> : tensor<4xf32>
// Right: dense<[0.5, 0.5, 63.0, -64.5]> : tensor<4xf32>
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.uniform_quantize %x : (tensor<4xf32>) -> tensor<4x!quant.uniform<i8:f32, 0.5:1>>
  %1 = stablehlo.uniform_dequantize %0 : (tensor<4x!quant.uniform<i8:f32, 0.5:1>>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}
// -----
// Report: a number that underflows in a conversion loses its sign
// Rule: specification, "convert": rounding of IEEE-754, whose result keeps the sign: 1 / -0 is -inf.
// Input: dense<[-1.0e-60, 1.0e-60]> : tensor<2xf64>
// Right: dense<[-0.0, 0.0]> : tensor<2xf32>, dense<[0xFF800000, 0x7F800000]> : tensor<2xf32>
func.func @main(%x: tensor<2xf64>) -> (tensor<2xf32>, tensor<2xf32>) {
  %one = stablehlo.constant dense<1.0> : tensor<2xf32>
  %0 = stablehlo.convert %x : (tensor<2xf64>) -> tensor<2xf32>
  %1 = stablehlo.divide %one, %0 : tensor<2xf32>
  return %0, %1 : tensor<2xf32>, tensor<2xf32>
}
// -----
// Report: a chain of conversions is joined to one, though the step between loses digits or saturates
// Rule: specification, "convert": each conversion gives a value of its type; docs/numerics.md for those out of range.
// Input: dense<[16777217, -5, 300]> : tensor<3xi32>
// Right: dense<[16777216, -5, 300]> : tensor<3xi32>, dense<[1, 251, 44]> : tensor<3xi32>
func.func @main(%x: tensor<3xi32>) -> (tensor<3xi32>, tensor<3xi32>) {
  %0 = stablehlo.convert %x : (tensor<3xi32>) -> tensor<3xf32>
  %1 = stablehlo.convert %0 : (tensor<3xf32>) -> tensor<3xi32>
  %2 = stablehlo.convert %x : (tensor<3xi32>) -> tensor<3xui8>
  %3 = stablehlo.convert %2 : (tensor<3xui8>) -> tensor<3xi32>
  return %1, %3 : tensor<3xi32>, tensor<3xi32>
}
// -----
// Report: a conversion of floats to 4-bit integers takes the low bits, or rounds
// Rule: docs/numerics.md: truncated; out of range, the nearest number; NaN gives 0 ("convert").
// Input: dense<[7.9, 100.0, -8.5, -100.0, 0x7FC00000]> : tensor<5xf32>
// Right: dense<[7, 7, -8, -8, 0]> : tensor<5xi4>, dense<[7, 15, 0, 0, 0]> : tensor<5xui4>
func.func @main(%x: tensor<5xf32>) -> (tensor<5xi4>, tensor<5xui4>) {
  %0 = stablehlo.convert %x : (tensor<5xf32>) -> tensor<5xi4>
  %1 = stablehlo.convert %x : (tensor<5xf32>) -> tensor<5xui4>
  return %0, %1 : tensor<5xi4>, tensor<5xui4>
}
// -----
// Report: values quantized along a dimension are read with the scale of the first slice
// Rule: specification, "uniform_dequantize": each slice of the quantized dimension has its scale and zero point.
// Input: dense<[[2, 4], [6, 8]]> : tensor<2x2xi8>
// Right: dense<[[1.0, 1.0], [3.0, 2.0]]> : tensor<2x2xf32>
func.func @main(%x: tensor<2x2xi8>) -> tensor<2x2xf32> {
  %0 = stablehlo.bitcast_convert %x : (tensor<2x2xi8>) -> tensor<2x2x!quant.uniform<i8:f32:1, {0.5, 0.25}>>
  %1 = stablehlo.uniform_dequantize %0 : (tensor<2x2x!quant.uniform<i8:f32:1, {0.5, 0.25}>>) -> tensor<2x2xf32>
  return %1 : tensor<2x2xf32>
}
