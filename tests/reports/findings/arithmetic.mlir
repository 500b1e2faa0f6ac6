// Report: integer powers are wrong for large exponents
// Rule: specification, "power": "For integers: integer exponentiation", modulo 2^32 as all integer operations.
// Input: dense<3> : tensor<3xi32>, dense<[20, 40, 101]> : tensor<3xi32>
// Right: dense<[-808182895, 689956897, 1839741811]> : tensor<3xi32>
func.func @main(%x: tensor<3xi32>, %y: tensor<3xi32>) -> tensor<3xi32> {
  %0 = stablehlo.power %x, %y : tensor<3xi32>
  return %0 : tensor<3xi32>
}
// -----
// Report: `popcnt` of negative integers of 4 bits counts the bits of a byte
// Rule: specification, "popcnt": "element-wise count of the number of bits set in the operand tensor".
// Input: dense<[-8, -1, 7]> : tensor<3xi4>
// Right: dense<[1, 4, 3]> : tensor<3xi4>
func.func @main(%x: tensor<3xi4>) -> tensor<3xi4> {
  %0 = stablehlo.popcnt %x : tensor<3xi4>
  return %0 : tensor<3xi4>
}
// -----
// Report: the high half of products of integers of 4 bits is zero
// Rule: CHLO, "mulhi": the upper half of the bits of the product, which are those of the element type (docs/operations.md).
// Input: dense<[7, -8, 3]> : tensor<3xi4>, dense<[7, 7, 3]> : tensor<3xi4>
// Right: dense<[3, -4, 0]> : tensor<3xi4>
func.func @main(%x: tensor<3xi4>, %y: tensor<3xi4>) -> tensor<3xi4> {
  %0 = chlo.mulhi %x, %y : tensor<3xi4>, tensor<3xi4> -> tensor<3xi4>
  return %0 : tensor<3xi4>
}
// -----
// Report: a product that rounds up to the smallest normal number is flushed to zero
// Rule: specification, "multiply": "For floats: multiplication from IEEE-754", which rounds to the nearest number, here a normal one.
// Input: dense<0x3F7FFFFF> : tensor<1xf32>, dense<0x00800000> : tensor<1xf32>
// Right: dense<0x00800000> : tensor<1xf32>
func.func @main(%x: tensor<1xf32>, %y: tensor<1xf32>) -> tensor<1xf32> {
  %0 = stablehlo.multiply %x, %y : tensor<1xf32>
  return %0 : tensor<1xf32>
}
// -----
// Report: a quotient whose divisor is broadcast is rounded twice
// Rule: specification, "divide": "For floats: division from IEEE-754", which rounds once.
// Input: dense<10.0> : tensor<2xf32>, dense<1.5> : tensor<f32>
// Right: dense<0x40D55555> : tensor<2xf32>
func.func @main(%x: tensor<2xf32>, %y: tensor<f32>) -> tensor<2xf32> {
  %0 = stablehlo.broadcast_in_dim %y, dims = [] : (tensor<f32>) -> tensor<2xf32>
  %1 = stablehlo.divide %x, %0 : tensor<2xf32>
  return %1 : tensor<2xf32>
}
// -----
// Report: the angle of two subnormal numbers is NaN
// Rule: specification, "atan2": "For floats: atan2 from IEEE-754", which is a number for any two numbers, also if subnormal ones are flushed.
// Input: dense<[0x80000001, 0x00000001]> : tensor<2xf32>, dense<[0x80000001, 0x00000001]> : tensor<2xf32>
// Right: dense<true> : tensor<2xi1>
func.func @main(%x: tensor<2xf32>, %y: tensor<2xf32>) -> tensor<2xi1> {
  %0 = stablehlo.atan2 %x, %y : tensor<2xf32>
  %1 = stablehlo.compare EQ, %0, %0 : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xi1>
  return %1 : tensor<2xi1>
}
// -----
// Report: the cube root of a positive subnormal number is negative
// Rule: specification, "cbrt": "For floats: rootn(x, 3) from IEEE-754", which has the sign of x.
// Input: dense<0x00000001> : tensor<1xf32>
// Right: dense<true> : tensor<1xi1>
func.func @main(%x: tensor<1xf32>) -> tensor<1xi1> {
  %0 = stablehlo.cbrt %x : tensor<1xf32>
  %zero = stablehlo.constant dense<0.0> : tensor<1xf32>
  %1 = stablehlo.compare GE, %0, %zero : (tensor<1xf32>, tensor<1xf32>) -> tensor<1xi1>
  return %1 : tensor<1xi1>
}
// -----
// Report: the square root of numbers of 8 bits is rounded twice
// Rule: specification, "sqrt": "For floats: squareRoot from IEEE-754", which rounds once.
// Input: dense<[0x2F, 0x40]> : tensor<2xf8E3M4>
// Right: dense<[0x2F, 0x37]> : tensor<2xf8E3M4>
func.func @main(%x: tensor<2xf8E3M4>) -> tensor<2xf8E3M4> {
  %0 = stablehlo.sqrt %x : tensor<2xf8E3M4>
  return %0 : tensor<2xf8E3M4>
}
// -----
// Report: the smallest number of f8E8M0FNU becomes NaN
// Rule: specification, "multiply": "For floats: multiplication from IEEE-754"; the type has the powers of two from 2^-127 on ("Types").
// Input: dense<0x00> : tensor<1xf8E8M0FNU>, dense<1.0> : tensor<1xf8E8M0FNU>
// Right: dense<0x00> : tensor<1xf8E8M0FNU>
func.func @main(%x: tensor<1xf8E8M0FNU>, %y: tensor<1xf8E8M0FNU>) -> tensor<1xf8E8M0FNU> {
  %0 = stablehlo.multiply %x, %y : tensor<1xf8E8M0FNU>
  return %0 : tensor<1xf8E8M0FNU>
}
// -----
// Report: the number after one towards two is one half in f8E8M0FNU
// Rule: CHLO, "next_after": the next value from x towards y; the type has no sign (docs/numerics.md).
// Input: dense<1.0> : tensor<1xf8E8M0FNU>, dense<2.0> : tensor<1xf8E8M0FNU>
// Right: dense<2.0> : tensor<1xf8E8M0FNU>
func.func @main(%x: tensor<1xf8E8M0FNU>, %y: tensor<1xf8E8M0FNU>) -> tensor<1xf8E8M0FNU> {
  %0 = chlo.next_after %x, %y : tensor<1xf8E8M0FNU>, tensor<1xf8E8M0FNU> -> tensor<1xf8E8M0FNU>
  return %0 : tensor<1xf8E8M0FNU>
}
// -----
// Report: zero is infinite in f4E2M1FN
// Rule: CHLO, "is_inf": whether a value is infinite; the type has no infinities (docs/numerics.md).
// Input: dense<[0.0, -0.0, 6.0]> : tensor<3xf4E2M1FN>
// Right: dense<false> : tensor<3xi1>
func.func @main(%x: tensor<3xf4E2M1FN>) -> tensor<3xi1> {
  %0 = chlo.is_inf %x : tensor<3xf4E2M1FN> -> tensor<3xi1>
  return %0 : tensor<3xi1>
}
// -----
// Report: the largest number of f4E2M1FN is converted to the limits of integer types
// Rule: specification, "convert": for floating-point to integer "the fractional part is truncated", and 6 is in the range of i8.
// Input: dense<[6.0, -6.0, 4.0]> : tensor<3xf4E2M1FN>
// Right: dense<[6, -6, 4]> : tensor<3xi8>
func.func @main(%x: tensor<3xf4E2M1FN>) -> tensor<3xi8> {
  %0 = stablehlo.convert %x : (tensor<3xf4E2M1FN>) -> tensor<3xi8>
  return %0 : tensor<3xi8>
}
// -----
// Report: a mantissa of no bits keeps NaN
// Rule: specification, "reduce_precision": "the mantissa bits are truncated to mantissa_bits", "overflows to infinity using the original sign".
// Input: dense<0x7FC00000> : tensor<1xf32>
// Right: dense<0x7F800000> : tensor<1xf32>
func.func @main(%x: tensor<1xf32>) -> tensor<1xf32> {
  %0 = stablehlo.reduce_precision %x, format = e2m0 : tensor<1xf32>
  return %0 : tensor<1xf32>
}
// -----
// Report: subnormal numbers of 8 bits keep digits that the format does not have
// Rule: specification, "reduce_precision": "The mantissa bits of the original value are updated to round the original value".
// Input: dense<[0x01, 0x03]> : tensor<2xf8E3M4>
// Right: dense<[0x00, 0x04]> : tensor<2xf8E3M4>
func.func @main(%x: tensor<2xf8E3M4>) -> tensor<2xf8E3M4> {
  %0 = stablehlo.reduce_precision %x, format = e5m2 : tensor<2xf8E3M4>
  return %0 : tensor<2xf8E3M4>
}
// -----
// Report: maxima of complex numbers compare real parts alone
// Rule: specification, "maximum": "For complex numbers: lexicographic maximum for the (real, imaginary) pair".
// Input: dense<(1.0, 1.0)> : tensor<1xcomplex<f32>>, dense<(1.0, 2.0)> : tensor<1xcomplex<f32>>
// Right: dense<(1.0, 2.0)> : tensor<1xcomplex<f32>>
func.func @main(%x: tensor<1xcomplex<f32>>, %y: tensor<1xcomplex<f32>>) -> tensor<1xcomplex<f32>> {
  %0 = stablehlo.maximum %x, %y : tensor<1xcomplex<f32>>
  return %0 : tensor<1xcomplex<f32>>
}
// -----
// Report: -0 equals 0 in total order
// Rule: specification, "compare": "compare_type = TOTALORDER, the op uses the combination of totalOrder and compareQuietEqual operations from IEEE-754"; totalOrder(-0, +0) holds, and not the reverse.
// Input: dense<-0.0> : tensor<1xf32>, dense<0.0> : tensor<1xf32>
// Right: dense<false> : tensor<1xi1>, dense<true> : tensor<1xi1>
func.func @main(%x: tensor<1xf32>, %y: tensor<1xf32>) -> (tensor<1xi1>, tensor<1xi1>) {
  %0 = stablehlo.compare EQ, %x, %y, TOTALORDER : (tensor<1xf32>, tensor<1xf32>) -> tensor<1xi1>
  %1 = stablehlo.compare LT, %x, %y, TOTALORDER : (tensor<1xf32>, tensor<1xf32>) -> tensor<1xi1>
  return %0, %1 : tensor<1xi1>, tensor<1xi1>
}
// -----
// Report: an integer division by zero ends the process
// Rule: specification, "divide": "integer division"; the value of a division by zero is not defined, but the program is legal. NimbleHLO's value is that of docs/numerics.md.
// Input: dense<7> : tensor<1xi32>, dense<0> : tensor<1xi32>
// Right: dense<true> : tensor<1xi1>
func.func @main(%x: tensor<1xi32>, %y: tensor<1xi32>) -> tensor<1xi1> {
  %0 = stablehlo.divide %x, %y : tensor<1xi32>
  %1 = stablehlo.compare EQ, %0, %0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<1xi1>
  return %1 : tensor<1xi1>
}
// -----
// Report: the cube root of a negative number is NaN
// Rule: specification, "cbrt": "For floats: rootn(x, 3) from IEEE-754".
// Input: dense<-8.0> : tensor<1xf32>
// Right: dense<-2.0> : tensor<1xf32>
func.func @main(%x: tensor<1xf32>) -> tensor<1xf32> {
  %0 = stablehlo.cbrt %x : tensor<1xf32>
  return %0 : tensor<1xf32>
}
// -----
// Report: any number to the power zero is NaN for NaN
// Rule: specification, "power": "For floats: pow from IEEE-754": pow(x, 0) is 1 for any x, even a NaN.
// Input: dense<0x7FC00000> : tensor<1xf32>, dense<0.0> : tensor<1xf32>
// Right: dense<1.0> : tensor<1xf32>
func.func @main(%x: tensor<1xf32>, %y: tensor<1xf32>) -> tensor<1xf32> {
  %0 = stablehlo.power %x, %y : tensor<1xf32>
  return %0 : tensor<1xf32>
}
// -----
// Report: sines of large numbers are infinite
// Rule: specification, "sine": "For floats: sin from IEEE-754", whose results are between -1 and 1.
// Input: dense<[3.4e38, 1.0e30]> : tensor<2xf32>
// Right: dense<true> : tensor<2xi1>
func.func @main(%x: tensor<2xf32>) -> tensor<2xi1> {
  %0 = stablehlo.sine %x : tensor<2xf32>
  %1 = stablehlo.abs %0 : tensor<2xf32>
  %one = stablehlo.constant dense<1.0> : tensor<2xf32>
  %2 = stablehlo.compare LE, %1, %one : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xi1>
  return %2 : tensor<2xi1>
}
// -----
// Report: the sum of two booleans that the compiler knows to be true is false
// Rule: specification, "add": "For booleans: logical OR".
// Input: dense<0> : tensor<1xi32>
// Right: dense<true> : tensor<1xi1>
func.func @main(%x: tensor<1xi32>) -> tensor<1xi1> {
  %0 = stablehlo.compare EQ, %x, %x : (tensor<1xi32>, tensor<1xi32>) -> tensor<1xi1>
  %1 = stablehlo.add %0, %0 : tensor<1xi1>
  return %1 : tensor<1xi1>
}
// -----
// Report: the exponent of a reduced number of 8 bits is that of f16
// Rule: specification, "reduce_precision": "if the exponent bits of the intermediate result don't fit into the range provided by exponent_bits", of the operand's type; the mantissa is rounded to even.
// Input: dense<48.0> : tensor<1xf8E5M2FNUZ>
// Right: dense<64.0> : tensor<1xf8E5M2FNUZ>
func.func @main(%x: tensor<1xf8E5M2FNUZ>) -> tensor<1xf8E5M2FNUZ> {
  %0 = stablehlo.reduce_precision %x, format = e5m0 : tensor<1xf8E5M2FNUZ>
  return %0 : tensor<1xf8E5M2FNUZ>
}
// -----
// Report: the error function of the smallest numbers is zero
// Rule: CHLO, "erf": the error function, here 2 x / sqrt(pi), a normal number (docs/accuracy.md).
// Input: dense<0x80800000> : tensor<1xf32>
// Right: dense<true> : tensor<1xi1>
func.func @main(%x: tensor<1xf32>) -> tensor<1xi1> {
  %0 = chlo.erf %x : tensor<1xf32> -> tensor<1xf32>
  %zero = stablehlo.constant dense<0.0> : tensor<1xf32>
  %1 = stablehlo.compare LT, %0, %zero : (tensor<1xf32>, tensor<1xf32>) -> tensor<1xi1>
  return %1 : tensor<1xi1>
}
