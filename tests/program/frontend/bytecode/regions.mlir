func.func private @reducer(%x: tensor<f32>, %y: tensor<f32>) -> tensor<f32> {
  %0 = stablehlo.add %x, %y : tensor<f32>
  return %0 : tensor<f32>
}
func.func public @main(%x: tensor<4x?xf32>, %n: tensor<i32> {jax.arg_info = "n"}) -> (tensor<4xf32> {a.b = 1 : i8}) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [1]
    : (tensor<4x?xf32>, tensor<f32>) -> tensor<4xf32>
  %1:2 = stablehlo.while(%i = %n, %a = %0) : tensor<i32>, tensor<4xf32>
    cond {
      %c = stablehlo.constant dense<3> : tensor<i32>
      %2 = stablehlo.compare LT, %i, %c, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %2 : tensor<i1>
    } do {
      %one = stablehlo.constant dense<1> : tensor<i32>
      %2 = stablehlo.add %i, %one : tensor<i32>
      %3 = stablehlo.exponential %a {result_accuracy = #stablehlo.result_accuracy<mode = #stablehlo.result_accuracy_mode<HIGHEST>>} : tensor<4xf32>
      stablehlo.return %2, %3 : tensor<i32>, tensor<4xf32>
    }
  return %1#1 : tensor<4xf32>
}
