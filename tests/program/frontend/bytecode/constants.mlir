func.func @main() -> (tensor<9xi1>, tensor<3xi1>, tensor<2x2xbf16>, tensor<3xi4>, tensor<2xcomplex<f32>>, tensor<0xf32>) {
  %0 = stablehlo.constant dense<[true, false, true, true, false, false, true, false, true]> : tensor<9xi1>
  %1 = stablehlo.constant dense<true> : tensor<3xi1>
  %2 = stablehlo.constant dense<[[1.5, 0x7FC0], [-0.0, 3.0]]> : tensor<2x2xbf16>
  %3 = stablehlo.constant dense<[-8, 7, 1]> : tensor<3xi4>
  %4 = stablehlo.constant dense<[(1.0, -2.0), (0.5, 4.0)]> : tensor<2xcomplex<f32>>
  %5 = stablehlo.constant dense<> : tensor<0xf32>
  %6 = stablehlo.constant dense<7> : tensor<1000x1000xi64>
  %7 = stablehlo.constant dense<[18446744073709551615, 1]> : tensor<2xui64>
  return %0, %1, %2, %3, %4, %5
    : tensor<9xi1>, tensor<3xi1>, tensor<2x2xbf16>, tensor<3xi4>, tensor<2xcomplex<f32>>, tensor<0xf32>
}
