// Report: the exponential of a complex number is NaN where its modulus is zero
// Rule: specification, "exponential": "For complex numbers: complex exponential"; cexp(-inf + i inf) is 0 (C99, annex G).
// Input: dense<(0xFF800000, 0x7F800000)> : tensor<1xcomplex<f32>>
// Right: dense<0.0> : tensor<1xf32>
func.func @main(%x: tensor<1xcomplex<f32>>) -> tensor<1xf32> {
  %0 = stablehlo.exponential %x : tensor<1xcomplex<f32>>
  %1 = stablehlo.abs %0 : (tensor<1xcomplex<f32>>) -> tensor<1xf32>
  return %1 : tensor<1xf32>
}
// -----
// Report: the square root below the branch cut is that above it
// Rule: specification, "sqrt": "For complex numbers: complex square root"; the sign of a zero imaginary part tells the side of the cut (C99, annex G).
// Input: dense<(-4.0, -0.0)> : tensor<1xcomplex<f32>>
// Right: dense<-2.0> : tensor<1xf32>
func.func @main(%x: tensor<1xcomplex<f32>>) -> tensor<1xf32> {
  %0 = stablehlo.sqrt %x : tensor<1xcomplex<f32>>
  %1 = stablehlo.imag %0 : (tensor<1xcomplex<f32>>) -> tensor<1xf32>
  return %1 : tensor<1xf32>
}
// -----
// Report: the sign of a large complex number is zero
// Rule: specification, "sign": "return divide(x, convert(abs(x), type(x)))", whose modulus is one.
// Input: dense<(3.0e38, 3.0e38)> : tensor<1xcomplex<f32>>
// Right: dense<true> : tensor<1xi1>
func.func @main(%x: tensor<1xcomplex<f32>>) -> tensor<1xi1> {
  %0 = stablehlo.sign %x : tensor<1xcomplex<f32>>
  %1 = stablehlo.real %0 : (tensor<1xcomplex<f32>>) -> tensor<1xf32>
  %half = stablehlo.constant dense<0.5> : tensor<1xf32>
  %2 = stablehlo.compare GE, %1, %half : (tensor<1xf32>, tensor<1xf32>) -> tensor<1xi1>
  return %2 : tensor<1xi1>
}
// -----
// Report: the logarithm of a tiny complex number is infinite
// Rule: specification, "log_plus_one": "complex(log(hypot(real(x) + 1, imag(x))), atan2(imag(x), real(x) + 1))", here log(2^-126).
// Input: dense<(-1.0, 0x00800000)> : tensor<1xcomplex<f32>>
// Right: dense<0xC2AEAC50> : tensor<1xf32>
func.func @main(%x: tensor<1xcomplex<f32>>) -> tensor<1xf32> {
  %0 = stablehlo.log_plus_one %x : tensor<1xcomplex<f32>>
  %1 = stablehlo.real %0 : (tensor<1xcomplex<f32>>) -> tensor<1xf32>
  return %1 : tensor<1xf32>
}
// -----
// Report: the logistic function of an infinite complex number is NaN
// Rule: specification, "logistic": "division(1, addition(1, exp(-x)))", here 1 / (1 + 0).
// Input: dense<(0x7F800000, 0x7F800000)> : tensor<1xcomplex<f32>>
// Right: dense<1.0> : tensor<1xf32>
func.func @main(%x: tensor<1xcomplex<f32>>) -> tensor<1xf32> {
  %0 = stablehlo.logistic %x : tensor<1xcomplex<f32>>
  %1 = stablehlo.real %0 : (tensor<1xcomplex<f32>>) -> tensor<1xf32>
  return %1 : tensor<1xf32>
}
// -----
// Report: `atanh` is infinite beside its pole
// Rule: CHLO, "atanh": the inverse hyperbolic tangent, here of 1 + 2^-126 i, whose real part is 1/4 log(4 / 2^-252) (docs/accuracy.md).
// Input: dense<(1.0, 0x00800000)> : tensor<1xcomplex<f32>>
// Right: dense<true> : tensor<1xi1>
func.func @main(%x: tensor<1xcomplex<f32>>) -> tensor<1xi1> {
  %0 = chlo.atanh %x : tensor<1xcomplex<f32>> -> tensor<1xcomplex<f32>>
  %1 = stablehlo.real %0 : (tensor<1xcomplex<f32>>) -> tensor<1xf32>
  %2 = stablehlo.is_finite %1 : (tensor<1xf32>) -> tensor<1xi1>
  return %2 : tensor<1xi1>
}
// -----
// Report: `acosh` below its branch cut is that above it
// Rule: CHLO, "acosh": the inverse hyperbolic cosine; the sign of a zero imaginary part tells the side of the cut (docs/accuracy.md).
// Input: dense<(-3.0, -0.0)> : tensor<1xcomplex<f32>>
// Right: dense<true> : tensor<1xi1>
func.func @main(%x: tensor<1xcomplex<f32>>) -> tensor<1xi1> {
  %0 = chlo.acosh %x : tensor<1xcomplex<f32>> -> tensor<1xcomplex<f32>>
  %1 = stablehlo.imag %0 : (tensor<1xcomplex<f32>>) -> tensor<1xf32>
  %zero = stablehlo.constant dense<0.0> : tensor<1xf32>
  %2 = stablehlo.compare LT, %1, %zero : (tensor<1xf32>, tensor<1xf32>) -> tensor<1xi1>
  return %2 : tensor<1xi1>
}
// -----
// Report: powers of zero are NaN
// Rule: specification, "power": "For complex numbers: complex exponentiation"; zero to a power with a positive real part is zero.
// Input: dense<(0.0, 0.0)> : tensor<1xcomplex<f32>>, dense<(0.5, 1.0)> : tensor<1xcomplex<f32>>
// Right: dense<0.0> : tensor<1xf32>
func.func @main(%x: tensor<1xcomplex<f32>>, %y: tensor<1xcomplex<f32>>) -> tensor<1xf32> {
  %0 = stablehlo.power %x, %y : tensor<1xcomplex<f32>>
  %1 = stablehlo.abs %0 : (tensor<1xcomplex<f32>>) -> tensor<1xf32>
  return %1 : tensor<1xf32>
}
