// Report: an integer division by zero ends the process with SIGFPE, or gives different values in constant folding and at run time
// Rule: docs/numerics.md, Integers: division by zero gives -1 (all bits set); the specification leaves it open ("divide").
// Input: dense<[7, -7, 0]> : tensor<3xi32>, dense<0> : tensor<3xi32>
// Right: dense<-1> : tensor<3xi32>
func.func @main(%x: tensor<3xi32>, %y: tensor<3xi32>) -> tensor<3xi32> {
  %0 = stablehlo.divide %x, %y : tensor<3xi32>
  return %0 : tensor<3xi32>
}
// -----
// Report: the least integer divided by -1 traps
// Rule: specification, "divide": the quotient is discarded toward zero; an overflow wraps (docs/numerics.md).
// Input: dense<[-128, -127, 127]> : tensor<3xi8>, dense<-1> : tensor<3xi8>
// Right: dense<[-128, 127, -127]> : tensor<3xi8>
func.func @main(%x: tensor<3xi8>, %y: tensor<3xi8>) -> tensor<3xi8> {
  %0 = stablehlo.divide %x, %y : tensor<3xi8>
  return %0 : tensor<3xi8>
}
// -----
// Report: the remainder of the least integer by -1 traps; the remainder takes the divisor's sign
// Rule: specification, "remainder": the sign of the result is that of the dividend.
// Input: dense<[-9223372036854775808, -7, 7, -7]> : tensor<4xi64>, dense<[-1, 3, -3, -3]> : tensor<4xi64>
// Right: dense<[0, -1, 1, -1]> : tensor<4xi64>
func.func @main(%x: tensor<4xi64>, %y: tensor<4xi64>) -> tensor<4xi64> {
  %0 = stablehlo.remainder %x, %y : tensor<4xi64>
  return %0 : tensor<4xi64>
}
// -----
// Report: the remainder of floats has the divisor's sign, or an infinite divisor gives NaN
// Rule: specification, "remainder": C fmod for floats; fmod(x, inf) is x and fmod(-0, y) is -0.
// Input: dense<[-5.5, 5.5, 1.0, -0.0, 0x7F800000, 1.0]> : tensor<6xf32>, dense<[2.0, -2.0, 0x7F800000, 3.0, 2.0, 0.0]> : tensor<6xf32>
// Right: dense<[-1.5, 1.5, 1.0, -0.0, 0x7FC00000, 0x7FC00000]> : tensor<6xf32>
func.func @main(%x: tensor<6xf32>, %y: tensor<6xf32>) -> tensor<6xf32> {
  %0 = stablehlo.remainder %x, %y : tensor<6xf32>
  return %0 : tensor<6xf32>
}
// -----
// Report: a shift by the width or more shifts by the amount modulo the width, as x86 does
// Rule: docs/numerics.md: a shift by the width or more gives 0 ("shift_left").
// Input: dense<1> : tensor<4xi32>, dense<[31, 32, 33, -1]> : tensor<4xi32>
// Right: dense<[-2147483648, 0, 0, 0]> : tensor<4xi32>
func.func @main(%x: tensor<4xi32>, %y: tensor<4xi32>) -> tensor<4xi32> {
  %0 = stablehlo.shift_left %x, %y : tensor<4xi32>
  return %0 : tensor<4xi32>
}
// -----
// Report: an arithmetic shift of a narrow integer by its width or more is done in a wider register
// Rule: docs/numerics.md: an arithmetic shift by the width or more gives the sign ("shift_right_arithmetic").
// Input: dense<[-128, 127, -1, 64]> : tensor<4xi8>, dense<[8, 8, 100, 6]> : tensor<4xi8>
// Right: dense<[-1, 0, -1, 1]> : tensor<4xi8>
func.func @main(%x: tensor<4xi8>, %y: tensor<4xi8>) -> tensor<4xi8> {
  %0 = stablehlo.shift_right_arithmetic %x, %y : tensor<4xi8>
  return %0 : tensor<4xi8>
}
// -----
// Report: a logical shift of a negative narrow integer brings in sign bits of a wider register
// Rule: specification, "shift_right_logical": zeros are shifted in at the element's own width.
// Input: dense<[-128, -1, -1]> : tensor<3xi8>, dense<[1, 7, 8]> : tensor<3xi8>
// Right: dense<[64, 1, 0]> : tensor<3xi8>
func.func @main(%x: tensor<3xi8>, %y: tensor<3xi8>) -> tensor<3xi8> {
  %0 = stablehlo.shift_right_logical %x, %y : tensor<3xi8>
  return %0 : tensor<3xi8>
}
// -----
// Report: the population count of a negative narrow integer counts the bits of its sign extension
// Rule: specification, "popcnt": the number of bits set in the element.
// Input: dense<[-1, -128, 0, 127]> : tensor<4xi8>
// Right: dense<[8, 1, 0, 7]> : tensor<4xi8>
func.func @main(%x: tensor<4xi8>) -> tensor<4xi8> {
  %0 = stablehlo.popcnt %x : tensor<4xi8>
  return %0 : tensor<4xi8>
}
// -----
// Report: the leading zeros of 0 are undefined, those of a narrow integer are counted at 32 bits
// Rule: specification, "count_leading_zeros": of the element's own width.
// Input: dense<[0, 1, -1, 64]> : tensor<4xi16>
// Right: dense<[16, 15, 0, 9]> : tensor<4xi16>
func.func @main(%x: tensor<4xi16>) -> tensor<4xi16> {
  %0 = stablehlo.count_leading_zeros %x : tensor<4xi16>
  return %0 : tensor<4xi16>
}
// -----
// Report: the absolute value and the negation of the least integer saturate
// Rule: specification, "abs" and "negate": modulo arithmetic for signed integers.
// Input: dense<[-128, -1]> : tensor<2xi8>
// Right: dense<[-128, 1]> : tensor<2xi8>, dense<[-128, 1]> : tensor<2xi8>
func.func @main(%x: tensor<2xi8>) -> (tensor<2xi8>, tensor<2xi8>) {
  %0 = stablehlo.abs %x : tensor<2xi8>
  %1 = stablehlo.negate %x : tensor<2xi8>
  return %0, %1 : tensor<2xi8>, tensor<2xi8>
}
// -----
// Report: a power of integers with a negative exponent loops or traps
// Rule: docs/numerics.md: x to a negative power is 1 / x, so 0 unless x is 1 or -1 ("power").
// Input: dense<[2, 1, -1, -1]> : tensor<4xi32>, dense<[-1, -5, -3, -2]> : tensor<4xi32>
// Right: dense<[0, 1, -1, 1]> : tensor<4xi32>
func.func @main(%x: tensor<4xi32>, %y: tensor<4xi32>) -> tensor<4xi32> {
  %0 = stablehlo.power %x, %y : tensor<4xi32>
  return %0 : tensor<4xi32>
}
// -----
// Report: maximum and minimum drop a NaN, as the C functions do
// Rule: specification, "maximum" and "minimum": the operations of IEEE-754, which propagate NaN and order zeros.
// Input: dense<[0x7FC00000, 1.0, -0.0]> : tensor<3xf32>, dense<[1.0, 0x7FC00000, 0.0]> : tensor<3xf32>
// Right: dense<[0x7FC00000, 0x7FC00000, 0.0]> : tensor<3xf32>, dense<[0x7FC00000, 0x7FC00000, -0.0]> : tensor<3xf32>
func.func @main(%x: tensor<3xf32>, %y: tensor<3xf32>) -> (tensor<3xf32>, tensor<3xf32>) {
  %0 = stablehlo.maximum %x, %y : tensor<3xf32>
  %1 = stablehlo.minimum %x, %y : tensor<3xf32>
  return %0, %1 : tensor<3xf32>, tensor<3xf32>
}
// -----
// Report: half-way cases round away from zero in both rounding operations
// Rule: specification, "round_nearest_even" and "round_nearest_afz".
// Input: dense<[0.5, 1.5, 2.5, -0.5, -2.5, 8388609.0]> : tensor<6xf32>
// Right: dense<[0.0, 2.0, 2.0, -0.0, -2.0, 8388609.0]> : tensor<6xf32>, dense<[1.0, 2.0, 3.0, -1.0, -3.0, 8388609.0]> : tensor<6xf32>
func.func @main(%x: tensor<6xf32>) -> (tensor<6xf32>, tensor<6xf32>) {
  %0 = stablehlo.round_nearest_even %x : tensor<6xf32>
  %1 = stablehlo.round_nearest_afz %x : tensor<6xf32>
  return %0, %1 : tensor<6xf32>, tensor<6xf32>
}
// -----
// Report: the number before 0.5 rounds to 1, because half is added before truncation
// Rule: specification, "round_nearest_afz": to the nearest integer, ties away from zero.
// Input: dense<[0x3EFFFFFF, 0xBEFFFFFF]> : tensor<2xf32>
// Right: dense<[0.0, -0.0]> : tensor<2xf32>
func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = stablehlo.round_nearest_afz %x : tensor<2xf32>
  return %0 : tensor<2xf32>
}
// -----
// Report: clamp with a minimum above the maximum gives the minimum
// Rule: specification, "clamp": minimum(maximum(operand, min), max), so the maximum wins.
// Input: dense<5> : tensor<i32>, dense<[1, 4, 9]> : tensor<3xi32>, dense<3> : tensor<i32>
// Right: dense<3> : tensor<3xi32>
func.func @main(%low: tensor<i32>, %x: tensor<3xi32>, %high: tensor<i32>) -> tensor<3xi32> {
  %0 = stablehlo.clamp %low, %x, %high : (tensor<i32>, tensor<3xi32>, tensor<i32>) -> tensor<3xi32>
  return %0 : tensor<3xi32>
}
// -----
// Report: unsigned integers above the signed range compare as negative numbers
// Rule: specification, "compare": unsigned comparison of unsigned integers.
// Input: dense<[200, 100]> : tensor<2xui8>, dense<[100, 200]> : tensor<2xui8>
// Right: dense<[true, false]> : tensor<2xi1>
func.func @main(%x: tensor<2xui8>, %y: tensor<2xui8>) -> tensor<2xi1> {
  %0 = stablehlo.compare GT, %x, %y : (tensor<2xui8>, tensor<2xui8>) -> tensor<2xi1>
  return %0 : tensor<2xi1>
}
// -----
// Report: a comparison in total order treats -0 as 0, or a negative NaN as the largest
// Rule: specification, "compare": TOTALORDER is totalOrder of IEEE-754: -NaN < -inf < -0 < 0 < NaN.
// Input: dense<[-0.0, 0xFFC00000, 0x7FC00000]> : tensor<3xf32>, dense<[0.0, 0xFF800000, 0x7F800000]> : tensor<3xf32>
// Right: dense<[true, true, false]> : tensor<3xi1>
func.func @main(%x: tensor<3xf32>, %y: tensor<3xf32>) -> tensor<3xi1> {
  %0 = stablehlo.compare LT, %x, %y, TOTALORDER : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xi1>
  return %0 : tensor<3xi1>
}
// -----
// Report: the sign of -0 is 0, or that of NaN is 0
// Rule: specification, "sign": -0 for -0 and NaN for NaN.
// Input: dense<[-0.0, 0.0, 0x7FC00000, -2.0]> : tensor<4xf32>
// Right: dense<[-0.0, 0.0, 0x7FC00000, -1.0]> : tensor<4xf32>
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.sign %x : tensor<4xf32>
  return %0 : tensor<4xf32>
}
// -----
// Report: the square root of -0 is 0, its cube root is lost
// Rule: specification, "sqrt" and "cbrt": squareRoot of IEEE-754, which keeps the sign of zero.
// Input: dense<[-0.0, 0x7F800000, -8.0]> : tensor<3xf32>
// Right: dense<[-0.0, 0x7F800000, 0x7FC00000]> : tensor<3xf32>, dense<[-0.0, 0x7F800000, -2.0]> : tensor<3xf32>
func.func @main(%x: tensor<3xf32>) -> (tensor<3xf32>, tensor<3xf32>) {
  %0 = stablehlo.sqrt %x : tensor<3xf32>
  %1 = stablehlo.cbrt %x : tensor<3xf32>
  return %0, %1 : tensor<3xf32>, tensor<3xf32>
}
// -----
// Report: the angle of negative zeros has the wrong sign
// Rule: specification, "atan2": IEEE-754's atan2 keeps the sign of zero: atan2(-0, -1) is -pi.
// Input: dense<[-0.0, 0.0, -0.0]> : tensor<3xf32>, dense<[1.0, 0.0, 0.0]> : tensor<3xf32>
// Right: dense<[-0.0, 0.0, -0.0]> : tensor<3xf32>
func.func @main(%y: tensor<3xf32>, %x: tensor<3xf32>) -> tensor<3xf32> {
  %0 = stablehlo.atan2 %y, %x : tensor<3xf32>
  return %0 : tensor<3xf32>
}
// -----
// Report: expm1 and log1p of small numbers are computed by exp and log, or lose -0
// Rule: specification, "exponential_minus_one" and "log_plus_one": of numbers near zero they are those numbers.
// Input: dense<[1.0e-30, -0.0, 0xFF800000]> : tensor<3xf32>, dense<[1.0e-30, -0.0, -1.0]> : tensor<3xf32>
// Right: dense<[1.0e-30, -0.0, -1.0]> : tensor<3xf32>, dense<[1.0e-30, -0.0, 0xFF800000]> : tensor<3xf32>
func.func @main(%x: tensor<3xf32>, %y: tensor<3xf32>) -> (tensor<3xf32>, tensor<3xf32>) {
  %0 = stablehlo.exponential_minus_one %x : tensor<3xf32>
  %1 = stablehlo.log_plus_one %y : tensor<3xf32>
  return %0, %1 : tensor<3xf32>, tensor<3xf32>
}
// -----
// Report: powers of one and to the power of zero give NaN for NaN
// Rule: specification, "power": pow of IEEE-754: pow(1, NaN) = pow(NaN, 0) = 1.
// Input: dense<[1.0, 0x7FC00000, -0.0, 0.0]> : tensor<4xf32>, dense<[0x7FC00000, 0.0, -1.0, -2.0]> : tensor<4xf32>
// Right: dense<[1.0, 1.0, 0xFF800000, 0x7F800000]> : tensor<4xf32>
func.func @main(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.power %x, %y : tensor<4xf32>
  return %0 : tensor<4xf32>
}
// -----
// Report: the logistic function overflows to NaN for large negative numbers
// Rule: specification, "logistic": 1 / (1 + exp(-x)), whose limits are 0 and 1.
// Input: dense<[-200.0, 200.0, 0xFF800000, 0x7F800000, 0.0]> : tensor<5xf32>
// Right: dense<[0.0, 1.0, 0.0, 1.0, 0.5]> : tensor<5xf32>
func.func @main(%x: tensor<5xf32>) -> tensor<5xf32> {
  %0 = stablehlo.logistic %x : tensor<5xf32>
  return %0 : tensor<5xf32>
}
// -----
// Report: the modulus of a complex number overflows in the square, or an infinite part beside NaN gives NaN
// Rule: specification, "abs": the modulus; hypot of IEEE-754 is infinite where a part is.
// Input: dense<[(3.0e+38, 0.0), (0x7F800000, 0x7FC00000), (3.0, 4.0)]> : tensor<3xcomplex<f32>>
// Right: dense<[3.0e+38, 0x7F800000, 5.0]> : tensor<3xf32>
func.func @main(%x: tensor<3xcomplex<f32>>) -> tensor<3xf32> {
  %0 = stablehlo.abs %x : (tensor<3xcomplex<f32>>) -> tensor<3xf32>
  return %0 : tensor<3xf32>
}
// -----
// Report: the absolute value of an unsigned integer crashes instead of being refused
// Rule: specification, "abs" (I1): operand is of a signed integer, floating-point or complex type.
// Right: VerifyError (I1)
func.func @main(%x: tensor<2xui8>) -> tensor<2xui8> {
  %0 = stablehlo.abs %x : tensor<2xui8>
  return %0 : tensor<2xui8>
}
// -----
// Report: the sign of an unsigned integer is computed as that of a signed one
// Rule: specification, "sign" (I1): operand is of a signed integer, floating-point or complex type.
// Right: VerifyError (I1)
func.func @main(%x: tensor<2xui8>) -> tensor<2xui8> {
  %0 = stablehlo.sign %x : tensor<2xui8>
  return %0 : tensor<2xui8>
}
// -----
// Report: products and sums of 4-bit integers keep the bits of the wider register
// Rule: specification, "multiply" and "add": integers are modulo 2^4; "convert" then extends the sign.
// Input: dense<[7, -8, 5]> : tensor<3xi4>, dense<[3, -1, 5]> : tensor<3xi4>
// Right: dense<[5, -8, -7]> : tensor<3xi4>, dense<[-6.0, 7.0, -6.0]> : tensor<3xf32>
func.func @main(%x: tensor<3xi4>, %y: tensor<3xi4>) -> (tensor<3xi4>, tensor<3xf32>) {
  %0 = stablehlo.multiply %x, %y : tensor<3xi4>
  %1 = stablehlo.add %x, %y : tensor<3xi4>
  %2 = stablehlo.convert %1 : (tensor<3xi4>) -> tensor<3xf32>
  return %0, %2 : tensor<3xi4>, tensor<3xf32>
}
// -----
// Report: a product of constants, zero and infinity, is folded to zero
// Rule: specification, "multiply": multiplication of IEEE-754, so NaN; constants change no value.
// Right: dense<[0x7FC00000, 0x7FC00000, 0.0]> : tensor<3xf32>, dense<0x7FC00000> : tensor<f32>
func.func @main() -> (tensor<3xf32>, tensor<f32>) {
  %x = stablehlo.constant dense<[0.0, -0.0, 0.0]> : tensor<3xf32>
  %y = stablehlo.constant dense<[0x7F800000, 0xFF800000, 5.0]> : tensor<3xf32>
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.multiply %x, %y : tensor<3xf32>
  %1 = stablehlo.reduce(%0 init: %z) applies stablehlo.add across dimensions = [0] : (tensor<3xf32>, tensor<f32>) -> tensor<f32>
  return %0, %1 : tensor<3xf32>, tensor<f32>
}
// -----
// Report: x - x, x * 0 and x / x are folded to numbers though x is infinite or NaN
// Rule: specification, "subtract", "multiply" and "divide": operations of IEEE-754.
// Input: dense<[0x7F800000, 0x7FC00000, 2.0]> : tensor<3xf32>
// Right: dense<[0x7FC00000, 0x7FC00000, 0.0]> : tensor<3xf32>, dense<[0x7FC00000, 0x7FC00000, 0.0]> : tensor<3xf32>, dense<[0x7FC00000, 0x7FC00000, 1.0]> : tensor<3xf32>
func.func @main(%x: tensor<3xf32>) -> (tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) {
  %z = stablehlo.constant dense<0.0> : tensor<3xf32>
  %0 = stablehlo.subtract %x, %x : tensor<3xf32>
  %1 = stablehlo.multiply %x, %z : tensor<3xf32>
  %2 = stablehlo.divide %x, %x : tensor<3xf32>
  return %0, %1, %2 : tensor<3xf32>, tensor<3xf32>, tensor<3xf32>
}
// -----
// Report: x + 0 is folded to x though x is -0
// Rule: specification, "add": addition of IEEE-754: -0 + 0 is 0, -0 + -0 is -0.
// Input: dense<[-0.0, 0.0, 1.0]> : tensor<3xf32>
// Right: dense<[0.0, 0.0, 1.0]> : tensor<3xf32>, dense<[-0.0, 0.0, 1.0]> : tensor<3xf32>, dense<[0.0, -0.0, -1.0]> : tensor<3xf32>
func.func @main(%x: tensor<3xf32>) -> (tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) {
  %p = stablehlo.constant dense<0.0> : tensor<3xf32>
  %n = stablehlo.constant dense<-0.0> : tensor<3xf32>
  %0 = stablehlo.add %x, %p : tensor<3xf32>
  %1 = stablehlo.add %x, %n : tensor<3xf32>
  %2 = stablehlo.subtract %n, %x : tensor<3xf32>
  return %0, %1, %2 : tensor<3xf32>, tensor<3xf32>, tensor<3xf32>
}
// -----
// Report: the power of a negative number to a whole exponent is NaN, or loses its sign
// Rule: specification, "power": pow of IEEE-754: the sign of an odd power; NaN for a fraction.
// Input: dense<[-2.0, -2.0, -8.0, -0.0, 0xFF800000, -1.0]> : tensor<6xf32>, dense<[3.0, 4.0, 0.5, -1.0, 3.0, 0x7F800000]> : tensor<6xf32>
// Right: dense<[-8.0, 16.0, 0x7FC00000, 0xFF800000, 0xFF800000, 1.0]> : tensor<6xf32>
func.func @main(%x: tensor<6xf32>, %y: tensor<6xf32>) -> tensor<6xf32> {
  %0 = stablehlo.power %x, %y : tensor<6xf32>
  return %0 : tensor<6xf32>
}
// -----
// Report: the logistic function of narrow floats is not one half at zero, or not its limits at infinity
// Rule: specification, "logistic": 1 / (1 + exp(-x)): exact at zero and at infinity.
// Input: dense<[0.0, -0.0, 0x7F80, 0xFF80]> : tensor<4xbf16>
// Right: dense<[0.5, 0.5, 1.0, 0.0]> : tensor<4xbf16>, dense<[0.5, 0.5, 1.0, 0.0]> : tensor<4xf8E5M2>
func.func @main(%x: tensor<4xbf16>) -> (tensor<4xbf16>, tensor<4xf8E5M2>) {
  %0 = stablehlo.logistic %x : tensor<4xbf16>
  %1 = stablehlo.convert %x : (tensor<4xbf16>) -> tensor<4xf8E5M2>
  %2 = stablehlo.logistic %1 : tensor<4xf8E5M2>
  return %0, %2 : tensor<4xbf16>, tensor<4xf8E5M2>
}
// -----
// Report: the logarithm of the gamma function is NaN at zero or at a pole
// Rule: CHLO, "lgamma": the logarithm of the gamma function's magnitude; infinite at the poles and at infinity.
// Input: dense<[0.0, -0.0, 0x7F800000, 0xFF800000, -3.0]> : tensor<5xf32>
// Right: dense<0x7F800000> : tensor<5xf32>
func.func @main(%x: tensor<5xf32>) -> tensor<5xf32> {
  %0 = chlo.lgamma %x : tensor<5xf32> -> tensor<5xf32>
  return %0 : tensor<5xf32>
}
// -----
// Report: error functions are not exact at infinity, and the inverse is NaN at one
// Rule: CHLO, "erf", "erfc" and "erf_inv": their limits, which are exact numbers.
// Input: dense<[0x7F800000, 0xFF800000, 0.0]> : tensor<3xf32>, dense<[1.0, -1.0, 2.0]> : tensor<3xf32>
// Right: dense<[1.0, -1.0, 0.0]> : tensor<3xf32>, dense<[0.0, 2.0, 1.0]> : tensor<3xf32>, dense<[0x7F800000, 0xFF800000, 0x7FC00000]> : tensor<3xf32>
func.func @main(%x: tensor<3xf32>, %y: tensor<3xf32>) -> (tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) {
  %0 = chlo.erf %x : tensor<3xf32> -> tensor<3xf32>
  %1 = chlo.erfc %x : tensor<3xf32> -> tensor<3xf32>
  %2 = chlo.erf_inv %y : tensor<3xf32> -> tensor<3xf32>
  return %0, %1, %2 : tensor<3xf32>, tensor<3xf32>, tensor<3xf32>
}
// -----
// Report: the next number after zero is flushed to zero, or that after the greatest wraps to NaN
// Rule: docs/numerics.md: "next_after" is that of C.
// Input: dense<[0.0, 0x7F7FFFFF, 1.0, -0.0]> : tensor<4xf32>, dense<[1.0, 0x7F800000, 0.0, 0.0]> : tensor<4xf32>
// Right: dense<[0x00000001, 0x7F800000, 0x3F7FFFFF, 0.0]> : tensor<4xf32>
func.func @main(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
  %0 = chlo.next_after %x, %y : tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
