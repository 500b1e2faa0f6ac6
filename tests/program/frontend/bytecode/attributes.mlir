func.func private @handler(tensor<f32>) -> tensor<f32>
func.func @main(%x: tensor<1x8x8x3xf32>, %k: tensor<3x3x3x5xf32>, %i: tensor<4x1xi32>, %t: !stablehlo.token, %seed: tensor<2xui64>)
    -> tensor<1x8x8x5xf32> {
  %0 = stablehlo.convolution(%x, %k) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f],
    window = {stride = [1, 1], pad = [[1, 1], [1, 1]], rhs_dilate = [1, 1], reverse = [false, true]}
    {batch_group_count = 1 : i64, feature_group_count = 1 : i64, precision_config = [#stablehlo<precision HIGH>, #stablehlo<precision DEFAULT>]}
    : (tensor<1x8x8x3xf32>, tensor<3x3x3x5xf32>) -> tensor<1x8x8x5xf32>
  %1 = stablehlo.reshape %x : (tensor<1x8x8x3xf32>) -> tensor<8x24xf32>
  %2 = "stablehlo.gather"(%1, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0],
    start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 24>}>
    : (tensor<8x24xf32>, tensor<4x1xi32>) -> tensor<4x24xf32>
  %3 = stablehlo.dot_general %1, %2, contracting_dims = [1] x [1], precision = [DEFAULT, DEFAULT],
    algorithm = <lhs_precision_type = tf32, rhs_precision_type = tf32, accumulation_type = f32,
      lhs_component_count = 1, rhs_component_count = 1, num_primitive_operations = 1, allow_imprecise_accumulation = false>
    : (tensor<8x24xf32>, tensor<4x24xf32>) -> tensor<8x4xf32>
  %4 = stablehlo.custom_call @target(%1) {api_version = 4 : i32, backend_config = {a = 1 : i32, b = "text", c = [true]},
    called_computations = [@handler], has_side_effect = true,
    output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [], operand_index = 0, operand_tuple_indices = []>],
    operand_layouts = [dense<[1, 0]> : tensor<2xindex>], result_layouts = [dense<[1, 0]> : tensor<2xindex>]}
    : (tensor<8x24xf32>) -> tensor<8x24xf32>
  %5 = "stablehlo.all_reduce"(%4) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 0>,
    replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, use_global_device_ids}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %6 = stablehlo.add %a, %b : tensor<f32>
      stablehlo.return %6 : tensor<f32>
  }) : (tensor<8x24xf32>) -> tensor<8x24xf32>
  %7 = stablehlo.fft %1, type = RFFT, length = [24] : (tensor<8x24xf32>) -> tensor<8x13xcomplex<f32>>
  %8, %9 = stablehlo.rng_bit_generator %seed, algorithm = THREE_FRY : (tensor<2xui64>) -> (tensor<2xui64>, tensor<4xui32>)
  return %0 : tensor<1x8x8x5xf32>
}
