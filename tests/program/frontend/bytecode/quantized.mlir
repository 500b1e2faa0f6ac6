func.func @main(%x: tensor<2x!quant.uniform<i8:f32, 0.5:3>>,
    %y: tensor<2x3x!quant.uniform<i8<-127:127>:f32:1, {0.5:1, 0.25:2, 2.0:3}>>,
    %z: tensor<!quant.uniform<u8:f32, 0.125:128>>) -> tensor<2x!quant.uniform<i8:f32, 0.5:3>> {
  return %x : tensor<2x!quant.uniform<i8:f32, 0.5:3>>
}
