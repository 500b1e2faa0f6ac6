// Report: a composite that JAX writes for a function is refused, or its decomposition is lost
// Rule: specification, "composite": the semantics are those of decomposition.
// Input: dense<[1, 2, 3]> : tensor<3xi32>
// Right: dense<[3, 6, 9]> : tensor<3xi32>, dense<[3, 6, 9]> : tensor<3xi32>
func.func @main(%x: tensor<3xi32>) -> (tensor<3xi32>, tensor<3xi32>) {
  %0 = stablehlo.composite "my.thrice" %x {decomposition = @thrice.impl, version = 2 : i32} : (tensor<3xi32>) -> tensor<3xi32>
  %1 = "stablehlo.composite"(%x) {name = "odtml.thrice", composite_attributes = {mode = "wide", scale = 1.5 : f32}, decomposition = @thrice.impl} : (tensor<3xi32>) -> tensor<3xi32>
  return %0, %1 : tensor<3xi32>, tensor<3xi32>
}
func.func private @thrice.impl(%x: tensor<3xi32>) -> tensor<3xi32> {
  %0 = stablehlo.add %x, %x : tensor<3xi32>
  %1 = stablehlo.add %0, %x : tensor<3xi32>
  return %1 : tensor<3xi32>
}
// -----
// Report: the elements of a tuple that is the only parameter are exchanged with those of the result
// Rule: specification, "get_tuple_element" and "tuple"; attributes of the dialect mhlo change no result.
// Input: dense<1.0> : tensor<f32>, dense<[2, 3]> : tensor<2xi32>
// Right: dense<[2, 3]> : tensor<2xi32>, dense<1.0> : tensor<f32>
module @Crossing attributes {mhlo.cross_program_prefetches = [], mhlo.input_output_alias = [{alias = {kind = 0 : i64, parameter_index = array<i64: 0>, parameter_number = 0 : i64}, output_index = array<i64: 0>}], mhlo.is_dynamic = false, mhlo.use_auto_spmd_partitioning = false, mhlo.xla_entry_computation_result_layout = [dense<0> : tensor<1xindex>], mhlo.xla_entry_computation_result_tiles = [[]]} {
  func.func @main(%a: tensor<f32>, %b: tensor<2xi32>) -> (tensor<2xi32>, tensor<f32>) {
    %t = stablehlo.tuple %a, %b {xla_shape = "(f32[], s32[2]{0})"} : tuple<tensor<f32>, tensor<2xi32>>
    %0 = call @swapped(%t) : (tuple<tensor<f32>, tensor<2xi32>>) -> tuple<tensor<2xi32>, tensor<f32>>
    %1 = stablehlo.get_tuple_element %0[0] : (tuple<tensor<2xi32>, tensor<f32>>) -> tensor<2xi32>
    %2 = stablehlo.get_tuple_element %0[1] : (tuple<tensor<2xi32>, tensor<f32>>) -> tensor<f32>
    return %1, %2 : tensor<2xi32>, tensor<f32>
  }
  func.func private @swapped(%t: tuple<tensor<f32>, tensor<2xi32>>) -> tuple<tensor<2xi32>, tensor<f32>> {
    %0 = stablehlo.get_tuple_element %t[1] : (tuple<tensor<f32>, tensor<2xi32>>) -> tensor<2xi32>
    %1 = stablehlo.get_tuple_element %t[0] : (tuple<tensor<f32>, tensor<2xi32>>) -> tensor<f32>
    %2 = stablehlo.tuple %0, %1 : tuple<tensor<2xi32>, tensor<f32>>
    return %2 : tuple<tensor<2xi32>, tensor<f32>>
  }
}
// -----
// Report: an exported program names a mesh that it does not have, which aborts the process
// Rule: docs/numerics.md, a value with a sharding: it is the whole tensor; a sharding in a string attribute is text ("add").
// Input: dense<[1, 2]> : tensor<2xi32>
// Right: dense<[2, 4]> : tensor<2xi32>
module @jit_f attributes {mhlo.num_partitions = 2 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%x: tensor<2xi32> {mhlo.frontend_attributes = {xla.sdy.sharding = "#sdy.sharding<@mesh, [{\22x\22}]>"}, mhlo.sharding = "{devices=[2]<=[2]}"}) -> (tensor<2xi32> {jax.result_info = "result"}) {
    %0 = stablehlo.add %x, %x {mhlo.frontend_attributes = {xla.sdy.sharding = "#sdy.sharding_per_value<[<@mesh, [{\22x\22}]>]>"}} : tensor<2xi32>
    return %0 : tensor<2xi32>
  }
}
// -----
// Report: the Gaussian error function as XLA writes it when it converts its own programs has no implementation
// Rule: CHLO, "erf": odd, with limits 1 and -1; docs/api.md, custom calls.
// Input: dense<[0.0, 0x7F800000, 0xFF800000]> : tensor<3xf32>
// Right: dense<[0.0, 1.0, -1.0]> : tensor<3xf32>
func.func @main(%x: tensor<3xf32>) -> tensor<3xf32> {
  %0 = stablehlo.custom_call @mhlo.erf(%x) {mhlo.attributes = {}, mhlo.version = 1 : i64} : (tensor<3xf32>) -> tensor<3xf32>
  return %0 : tensor<3xf32>
}
// -----
// Report: the same values in another layout, as XLA writes it when it converts its own programs, are refused
// Rule: docs/api.md, custom calls: "mhlo.bitcast" reads the memory of its operand in the layout of its result.
// Input: dense<[[1, 2], [3, 4]]> : tensor<2x2xi32>
// Right: dense<[[[1], [3]], [[2], [4]]]> : tensor<2x2x1xi32>
func.func @main(%x: tensor<2x2xi32>) -> tensor<2x2x1xi32> {
  %0 = stablehlo.custom_call @mhlo.bitcast(%x) {mhlo.attributes = {result_layout = dense<[2, 0, 1]> : tensor<3xindex>, source_layout = dense<[1, 0]> : tensor<2xindex>}, mhlo.version = 1 : i64} : (tensor<2x2xi32>) -> tensor<2x2x1xi32>
  return %0 : tensor<2x2x1xi32>
}
