module @named attributes {mhlo.num_partitions = 2 : i32} {
  sdy.mesh @mesh = <["x"=2, "y"=4]>
  func.func @main(%x: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> tensor<8x8xf32> {
    %0 = sdy.sharding_constraint %x <@mesh, [{}, {"y"}]> : tensor<8x8xf32>
    %1 = chlo.erf %0 : tensor<8x8xf32> -> tensor<8x8xf32>
    %2 = chlo.broadcast_compare %1, %0 {comparison_direction = #chlo<comparison_direction GT>}
      : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xi1>
    %3 = "func.call"(%1) <{callee = @callee, no_inline}> : (tensor<8x8xf32>) -> tensor<8x8xf32>
    %c = arith.constant 4 : index
    %s = arith.addi %c, %c : index
    return %3 : tensor<8x8xf32>
  }
  func.func private @callee(%x: tensor<8x8xf32>) -> tensor<8x8xf32> attributes {no_inline} {
    return %x : tensor<8x8xf32> loc(fused<"why">["a.py":3:4 to 5:6, callsite("f"("b.py":1:2) at "c.py":7:8), unknown])
  }
}
