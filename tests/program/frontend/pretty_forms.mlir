// unary
%0 = stablehlo.abs %a : tensor<2x3xf32>
// generic
%0 = "stablehlo.abs"(%a) : (tensor<2x3xf32>) -> tensor<2x3xf32>
// -----
// binary, functional type
%0 = stablehlo.add %a, %b : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
// generic
%0 = "stablehlo.add"(%a, %b) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
// -----
// attributes
%0 = stablehlo.add %a, %b {x.y = 1 : i32} : tensor<2x3xf32>
// generic
%0 = "stablehlo.add"(%a, %b) <{x.y = 1 : i32}> : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
// -----
// clamp
%0 = stablehlo.clamp %s, %a, %s : (tensor<f32>, tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xf32>
// generic
%0 = "stablehlo.clamp"(%s, %a, %s) : (tensor<f32>, tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xf32>
// -----
// select
%0 = stablehlo.select %p, %a, %b : tensor<2x3xi1>, tensor<2x3xf32>
// generic
%0 = "stablehlo.select"(%p, %a, %b) : (tensor<2x3xi1>, tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
// -----
// compare
%0 = stablehlo.compare LT, %a, %b, TOTALORDER : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xi1>
// generic
%0 = "stablehlo.compare"(%a, %b) {comparison_direction = #stablehlo<comparison_direction LT>, compare_type = #stablehlo<comparison_type TOTALORDER>} : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xi1>
// -----
// compare without a type
%0 = stablehlo.compare EQ, %a, %b : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xi1>
// generic
%0 = "stablehlo.compare"(%a, %b) {comparison_direction = #stablehlo<comparison_direction EQ>} : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xi1>
// -----
// complex
%0 = stablehlo.complex %a, %b : tensor<2x3xcomplex<f32>>
// generic
%0 = "stablehlo.complex"(%a, %b) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xcomplex<f32>>
// -----
// constant
%0 = stablehlo.constant {x.y} dense<[1, 2]> : tensor<2xi8>
// generic
%0 = "stablehlo.constant"() {value = dense<[1, 2]> : tensor<2xi8>, x.y} : () -> tensor<2xi8>
// -----
// constant in generic form
%0 = stablehlo.constant() <{value = dense<1> : tensor<i8>}> : () -> tensor<!quant.uniform<i8:f32, 1.0:0>>
// generic
%0 = "stablehlo.constant"() {value = dense<1> : tensor<i8>} : () -> tensor<!quant.uniform<i8:f32, 1.0:0>>
// -----
// iota
%0 = stablehlo.iota dim = 1 : tensor<2x3xf32>
// generic
%0 = "stablehlo.iota"() {iota_dimension = 1 : i64} : () -> tensor<2x3xf32>
// -----
// concatenate
%0 = stablehlo.concatenate %a, %b, dim = 0 : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<4x3xf32>
// generic
%0 = "stablehlo.concatenate"(%a, %b) {dimension = 0 : i64} : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<4x3xf32>
// -----
// pad
%0 = stablehlo.pad %a, %s, low = [0, -1], high = [1, 0], interior = [0, 2] : (tensor<2x3xf32>, tensor<f32>) -> tensor<3x6xf32>
// generic
%0 = "stablehlo.pad"(%a, %s) {edge_padding_low = array<i64: 0, -1>, edge_padding_high = array<i64: 1, 0>, interior_padding = array<i64: 0, 2>} : (tensor<2x3xf32>, tensor<f32>) -> tensor<3x6xf32>
// -----
// transpose
%0 = stablehlo.transpose %a, dims = [1, 0] : (tensor<2x3xf32>) -> tensor<3x2xf32>
// generic
%0 = "stablehlo.transpose"(%a) {permutation = array<i64: 1, 0>} : (tensor<2x3xf32>) -> tensor<3x2xf32>
// -----
// array in full form
%0 = stablehlo.transpose %a, dims = array<i64: 1, 0> : (tensor<2x3xf32>) -> tensor<3x2xf32>
// generic
%0 = "stablehlo.transpose"(%a) {permutation = array<i64: 1, 0>} : (tensor<2x3xf32>) -> tensor<3x2xf32>
// -----
// slice
%0 = stablehlo.slice %a [0:2, 0:3:2] : (tensor<2x3xf32>) -> tensor<2x2xf32>
// generic
%0 = "stablehlo.slice"(%a) {start_indices = array<i64: 0, 0>, limit_indices = array<i64: 2, 3>, strides = array<i64: 1, 2>} : (tensor<2x3xf32>) -> tensor<2x2xf32>
// -----
// slice of a scalar
%0 = stablehlo.slice %s [] : (tensor<f32>) -> tensor<f32>
// generic
%0 = "stablehlo.slice"(%s) {start_indices = array<i64>, limit_indices = array<i64>, strides = array<i64>} : (tensor<f32>) -> tensor<f32>
// -----
// dynamic_slice
%0 = stablehlo.dynamic_slice %a, %i, %i, sizes = [1, 2] : (tensor<2x3xf32>, tensor<i32>, tensor<i32>) -> tensor<1x2xf32>
// generic
%0 = "stablehlo.dynamic_slice"(%a, %i, %i) {slice_sizes = array<i64: 1, 2>} : (tensor<2x3xf32>, tensor<i32>, tensor<i32>) -> tensor<1x2xf32>
// -----
// dot_general
%0 = stablehlo.dot_general %a, %m, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT], algorithm = <lhs_precision_type = tf32, rhs_precision_type = tf32, accumulation_type = f32, lhs_component_count = 1, rhs_component_count = 1, num_primitive_operations = 1, allow_imprecise_accumulation = false> : (tensor<2x3xf32>, tensor<3x2xf32>) -> tensor<2x2xf32>
// generic
%0 = "stablehlo.dot_general"(%a, %m) {dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>], algorithm = #stablehlo.dot_algorithm<lhs_precision_type = tf32, rhs_precision_type = tf32, accumulation_type = f32, lhs_component_count = 1, rhs_component_count = 1, num_primitive_operations = 1, allow_imprecise_accumulation = false>} : (tensor<2x3xf32>, tensor<3x2xf32>) -> tensor<2x2xf32>
// -----
// dot_general with batching dimensions
%0 = stablehlo.dot_general %a, %b, batching_dims = [0] x [0], contracting_dims = [1] x [1] : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2xf32>
// generic
%0 = "stablehlo.dot_general"(%a, %b) {dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [0], rhs_batching_dimensions = [0], lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [1]>} : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2xf32>
// -----
// convolution
%0 = stablehlo.convolution(%x, %k) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [1, 2], pad = [[0, 1], [0, -1]], lhs_dilate = [1, 1], rhs_dilate = [1, 1], reverse = [true, false]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x4x4x1xf32>, tensor<2x2x1x1xf32>) -> tensor<1x4x1x1xf32>
// generic
%0 = "stablehlo.convolution"(%x, %k) {dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, window_strides = array<i64: 1, 2>, padding = dense<[[0, 1], [0, -1]]> : tensor<2x2xi64>, lhs_dilation = array<i64: 1, 1>, rhs_dilation = array<i64: 1, 1>, window_reversal = array<i1: true, false>, batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x4x4x1xf32>, tensor<2x2x1x1xf32>) -> tensor<1x4x1x1xf32>
// -----
// convolution, a comma after the last window attribute
%0 = stablehlo.convolution(%x, %k) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [1, 1], reverse = [0, 1], } {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x4x4x1xf32>, tensor<2x2x1x1xf32>) -> tensor<1x3x3x1xf32>
// generic
%0 = "stablehlo.convolution"(%x, %k) {dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, window_strides = array<i64: 1, 1>, window_reversal = array<i1: false, true>, batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x4x4x1xf32>, tensor<2x2x1x1xf32>) -> tensor<1x3x3x1xf32>
// -----
// convolution without a window
%0 = stablehlo.convolution(%x, %k) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x4x4x1xf32>, tensor<2x2x1x1xf32>) -> tensor<1x3x3x1xf32>
// generic
%0 = "stablehlo.convolution"(%x, %k) {dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x4x4x1xf32>, tensor<2x2x1x1xf32>) -> tensor<1x3x3x1xf32>
// -----
// reduce applies
%0 = stablehlo.reduce(%a init: %s) applies stablehlo.add across dimensions = [1] : (tensor<2x3xf32>, tensor<f32>) -> tensor<2xf32>
// generic
%0 = "stablehlo.reduce"(%a, %s) ({^bb0(%q: tensor<f32>, %r: tensor<f32>): %1 = stablehlo.add %q, %r : tensor<f32> stablehlo.return %1 : tensor<f32>}) {dimensions = array<i64: 1>} : (tensor<2x3xf32>, tensor<f32>) -> tensor<2xf32>
// -----
// reduce with a reducer
%0:2 = stablehlo.reduce(%a init: %s), (%b init: %s) across dimensions = [0, 1] {x.y} : (tensor<2x3xf32>, tensor<2x3xf32>, tensor<f32>, tensor<f32>) -> (tensor<f32>, tensor<f32>)
reducer(%q: tensor<f32>, %r: tensor<f32> loc(unknown)) (%v: tensor<f32>, %w: tensor<f32>) {stablehlo.return %q, %w : tensor<f32>, tensor<f32>}
// generic
%0:2 = "stablehlo.reduce"(%a, %b, %s, %s) ({^bb0(%q: tensor<f32>, %v: tensor<f32>, %r: tensor<f32>, %w: tensor<f32>): stablehlo.return %q, %w : tensor<f32>, tensor<f32>}) {dimensions = array<i64: 0, 1>, x.y} : (tensor<2x3xf32>, tensor<2x3xf32>, tensor<f32>, tensor<f32>) -> (tensor<f32>, tensor<f32>)
// -----
// while
%0:2 = stablehlo.while(%q = %i, %r = %a) : tensor<i32>, tensor<2x3xf32> attributes {x.y}
cond {
%1 = stablehlo.compare LT, %q, %i : (tensor<i32>, tensor<i32>) -> tensor<i1>
stablehlo.return %1 : tensor<i1> } do { stablehlo.return %q, %r : tensor<i32>, tensor<2x3xf32> }
// generic
%0:2 = "stablehlo.while"(%i, %a) ({^bb0(%q: tensor<i32>, %r: tensor<2x3xf32>): %1 = "stablehlo.compare"(%q, %i) {comparison_direction = #stablehlo<comparison_direction LT>} : (tensor<i32>, tensor<i32>) -> tensor<i1> stablehlo.return %1 : tensor<i1>}, {^bb0(%q: tensor<i32>, %r: tensor<2x3xf32>): stablehlo.return %q, %r : tensor<i32>, tensor<2x3xf32>}) {x.y} : (tensor<i32>, tensor<2x3xf32>) -> (tensor<i32>, tensor<2x3xf32>)
// -----
// while without values
stablehlo.while() cond { %1 = stablehlo.constant dense<false> : tensor<i1> stablehlo.return %1 : tensor<i1> } do { stablehlo.return }
// generic
"stablehlo.while"() ({%1 = stablehlo.constant dense<false> : tensor<i1> stablehlo.return %1 : tensor<i1>}, {stablehlo.return}) : () -> ()
// -----
// call
%0 = func.call @main(%a) {x.y} : (tensor<2x3xf32>) -> tensor<2x3xf32>
// generic
%0 = "func.call"(%a) {callee = @main, x.y} : (tensor<2x3xf32>) -> tensor<2x3xf32>
// -----
// bare call
%0 = call @main(%a) : (tensor<2x3xf32>) -> tensor<2x3xf32>
// generic
%0 = "func.call"(%a) {callee = @main} : (tensor<2x3xf32>) -> tensor<2x3xf32>
// -----
// custom_call
%0 = stablehlo.custom_call @foo(%a, %b) {backend_config = {a = 1}} : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
// generic
%0 = "stablehlo.custom_call"(%a, %b) {call_target_name = "foo", backend_config = {a = 1}} : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
// -----
// custom_call without operands
stablehlo.custom_call @"foo bar"() : () -> ()
// generic
"stablehlo.custom_call"() {call_target_name = "foo bar"} : () -> ()
// -----
// composite
%0 = stablehlo.composite "x.y" %a {decomposition = @f, version = 1 : i32} : (tensor<2x3xf32>) -> tensor<2x3xf32>
// generic
%0 = "stablehlo.composite"(%a) {name = "x.y", decomposition = @f, version = 1 : i32} : (tensor<2x3xf32>) -> tensor<2x3xf32>
// -----
// composite with regions
%0 = stablehlo.composite "x.y" %a ({
  ^bb0(%inner: tensor<f32>):
    stablehlo.return %inner : tensor<f32>
}, {
  %inner = stablehlo.constant dense<1.0> : tensor<f32>
  stablehlo.return %inner : tensor<f32>
}) {decomposition = @f} : (tensor<2x3xf32>) -> tensor<2x3xf32>
// generic
%0 = "stablehlo.composite"(%a) ({
  ^bb0(%inner: tensor<f32>):
    stablehlo.return %inner : tensor<f32>
}, {
  %inner = stablehlo.constant dense<1.0> : tensor<f32>
  stablehlo.return %inner : tensor<f32>
}) {name = "x.y", decomposition = @f} : (tensor<2x3xf32>) -> tensor<2x3xf32>
// -----
// composite of regions alone
%0 = stablehlo.composite "x.y" ({
  %inner = stablehlo.constant dense<1.0> : tensor<f32>
  stablehlo.return %inner : tensor<f32>
}) {decomposition = @f} : () -> tensor<f32>
// generic
%0 = "stablehlo.composite"() ({
  %inner = stablehlo.constant dense<1.0> : tensor<f32>
  stablehlo.return %inner : tensor<f32>
}) {name = "x.y", decomposition = @f} : () -> tensor<f32>
// -----
// tuple
%0 = stablehlo.tuple %a, %i : tuple<tensor<2x3xf32>, tensor<i32>>
%1 = stablehlo.get_tuple_element %0[1] : (tuple<tensor<2x3xf32>, tensor<i32>>) -> tensor<i32>
// generic
%0 = "stablehlo.tuple"(%a, %i) : (tensor<2x3xf32>, tensor<i32>) -> tuple<tensor<2x3xf32>, tensor<i32>>
%1 = "stablehlo.get_tuple_element"(%0) {index = 1 : i32} : (tuple<tensor<2x3xf32>, tensor<i32>>) -> tensor<i32>
// -----
// optimization_barrier
%0:2 = stablehlo.optimization_barrier %a, %i : tensor<2x3xf32>, tensor<i32>
stablehlo.optimization_barrier ()
// generic
%0:2 = "stablehlo.optimization_barrier"(%a, %i) : (tensor<2x3xf32>, tensor<i32>) -> (tensor<2x3xf32>, tensor<i32>)
"stablehlo.optimization_barrier"() : () -> ()
// -----
// reduce_precision
%0 = stablehlo.reduce_precision %a, format = e5m10 : tensor<2x3xf32>
// generic
%0 = "stablehlo.reduce_precision"(%a) {exponent_bits = 5 : i32, mantissa_bits = 10 : i32} : (tensor<2x3xf32>) -> tensor<2x3xf32>
// -----
// fft
%0 = stablehlo.fft %c, type = IFFT, length = [2] : (tensor<2xcomplex<f32>>) -> tensor<2xcomplex<f32>>
// generic
%0 = "stablehlo.fft"(%c) {fft_type = #stablehlo<fft_type IFFT>, fft_length = array<i64: 2>} : (tensor<2xcomplex<f32>>) -> tensor<2xcomplex<f32>>
// -----
// cholesky
%0 = stablehlo.cholesky %a, lower = true : tensor<2x3xf32>
// generic
%0 = "stablehlo.cholesky"(%a) {lower = true} : (tensor<2x3xf32>) -> tensor<2x3xf32>
// -----
// rng_bit_generator
%0, %1 = stablehlo.rng_bit_generator %u, algorithm = THREE_FRY : (tensor<2xui64>) -> (tensor<2xui64>, tensor<2xui32>)
// generic
%0, %1 = "stablehlo.rng_bit_generator"(%u) {rng_algorithm = #stablehlo<rng_algorithm THREE_FRY>} : (tensor<2xui64>) -> (tensor<2xui64>, tensor<2xui32>)
// -----
// dynamic_broadcast_in_dim
%0 = stablehlo.dynamic_broadcast_in_dim %s, %n, dims = [] : (tensor<f32>, tensor<2xi64>) -> tensor<?x?xf32>
// generic
%0 = "stablehlo.dynamic_broadcast_in_dim"(%s, %n) {broadcast_dimensions = array<i64>} : (tensor<f32>, tensor<2xi64>) -> tensor<?x?xf32>
// -----
// after_all
%0 = stablehlo.after_all %t, %t : !stablehlo.token
%1 = stablehlo.after_all : !stablehlo.token
// generic
%0 = "stablehlo.after_all"(%t, %t) : (!stablehlo.token, !stablehlo.token) -> !stablehlo.token
%1 = "stablehlo.after_all"() : () -> !stablehlo.token
// -----
// top_k
%0, %1 = chlo.top_k(%a, k = 2) : tensor<2x3xf32> -> (tensor<2x2xf32>, tensor<2x2xi32>)
// generic
%0, %1 = "chlo.top_k"(%a) {k = 2 : i64} : (tensor<2x3xf32>) -> (tensor<2x2xf32>, tensor<2x2xi32>)
// -----
// chlo unary
%0 = chlo.erf %a : tensor<2x3xf32> -> tensor<2x3xf32>
// generic
%0 = "chlo.erf"(%a) : (tensor<2x3xf32>) -> tensor<2x3xf32>
// -----
// chlo broadcasting
%0 = chlo.broadcast_add %a, %s : (tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xf32>
// generic
%0 = "chlo.broadcast_add"(%a, %s) : (tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xf32>
// -----
// chlo constant
%0 = chlo.constant dense<1> : tensor<2xi8>
// generic
%0 = "chlo.constant"() {value = dense<1> : tensor<2xi8>} : () -> tensor<2xi8>
// -----
// expect_close
check.expect_close %a, %b, max_ulp_difference = 3, min_ulp_difference = 1 : tensor<2x3xf32>, tensor<2x3xf32>
// generic
"check.expect_close"(%a, %b) {max_ulp_difference = 3 : i64, min_ulp_difference = 1 : i64} : (tensor<2x3xf32>, tensor<2x3xf32>) -> ()
// -----
// expect_almost_eq_const
check.expect_almost_eq_const %s, dense<1.0> : tensor<f32>, tolerance = 0.5
// generic
"check.expect_almost_eq_const"(%s) {value = dense<1.0> : tensor<f32>, tolerance = 0.5} : (tensor<f32>) -> ()
// -----
// sdy sharding constraint
%0 = sdy.sharding_constraint %a <@mesh, [{"x"}, {}]> : tensor<2x3xf32>
// generic
%0 = "sdy.sharding_constraint"(%a) {sharding = #sdy.sharding<@mesh, [{"x"}, {}]>} : (tensor<2x3xf32>) -> tensor<2x3xf32>
// -----
// sdy reshard
%0 = sdy.reshard %a <@mesh, [{"x", ?}p1, {?}], replicated={"y":(2)2}, unreduced=max{"z"}> : tensor<2x3xf32>
// generic
%0 = "sdy.reshard"(%a) {sharding = #sdy.sharding<@mesh, [{"x", ?}p1, {?}], replicated={"y":(2)2}, unreduced=max{"z"}>} : (tensor<2x3xf32>) -> tensor<2x3xf32>
// -----
// sdy sharding on a mesh of its own
%0 = sdy.reshard %a <mesh<["x"=2]>, [{"x"}, {}], unreduced=sum{"x"}> : tensor<2x3xf32>
%1 = sdy.reshard %a #sdy.sharding<mesh<["x"=2], device_ids=[1, 0]>, [{#sdy<axis_ref"x">}, {}], unreduced{"x"}> : tensor<2x3xf32>
// generic
%0 = "sdy.reshard"(%a) {sharding = #sdy.sharding<mesh<["x"=2]>, [{"x"}, {}], unreduced={"x"}>} : (tensor<2x3xf32>) -> tensor<2x3xf32>
%1 = "sdy.reshard"(%a) {sharding = #sdy<sharding<mesh<["x"=2], device_ids=[1, 0]>, [{"x"}, {}], unreduced=sum{"x"}>>} : (tensor<2x3xf32>) -> tensor<2x3xf32>
// -----
// sdy sharding group
sdy.sharding_group %a group_id=21 : tensor<2x3xf32>
// generic
"sdy.sharding_group"(%a) {group_id = 21 : i64} : (tensor<2x3xf32>) -> ()
// -----
// sdy propagation barrier
%0 = sdy.propagation_barrier %a allowed_direction=FORWARD : tensor<2x3xf32>
%1 = sdy.propagation_barrier %a allowed_direction = BACKWARD {b} : tensor<2x3xf32>
// generic
%0 = "sdy.propagation_barrier"(%a) {allowed_direction = 1 : i32} : (tensor<2x3xf32>) -> tensor<2x3xf32>
%1 = "sdy.propagation_barrier"(%a) {allowed_direction = 2 : i32, b} : (tensor<2x3xf32>) -> tensor<2x3xf32>
// -----
// sdy constant
%0 = sdy.constant dense<[1, 2]> : tensor<2xi64>
// generic
%0 = "sdy.constant"() {value = dense<[1, 2]> : tensor<2xi64>} : () -> tensor<2xi64>
// -----
// sdy data flow edges
%0 = sdy.data_flow_edge %a sharding=<@mesh, [{"x"}, {}]> : tensor<2x3xf32>
%1 = sdy.data_flow_edge %b : tensor<2x3xf32>
%2 = sdy.func_data_flow_edge %p {b} : tensor<2x3xi1>
// generic
%0 = "sdy.data_flow_edge"(%a) {sharding = #sdy.sharding<@mesh, [{"x"}, {}]>} : (tensor<2x3xf32>) -> tensor<2x3xf32>
%1 = "sdy.data_flow_edge"(%b) : (tensor<2x3xf32>) -> tensor<2x3xf32>
%2 = "sdy.func_data_flow_edge"(%p) {b} : (tensor<2x3xi1>) -> tensor<2x3xi1>
// -----
// sdy named computation
%0:2 = sdy.named_computation<"f">(%a, %s) in_shardings=[<@mesh, [{"x"}, {}]>, <@mesh, []>] out_shardings=[<@mesh, []>, <@mesh, [{"x"}, {}]>] (%a: tensor<2x3xf32> loc("x"), %1: tensor<f32>) {
  %0 = stablehlo.abs %a : tensor<2x3xf32>
  sdy.return {b} %1, %0 : tensor<f32>, tensor<2x3xf32>
} {c} : (tensor<2x3xf32>, tensor<f32>) -> (tensor<f32>, tensor<2x3xf32>)
sdy.named_computation<"g">() () {
  sdy.return
} : () -> ()
// generic
%0:2 = "sdy.named_computation"(%a, %s) ({
^bb0(%v: tensor<2x3xf32>, %w: tensor<f32>):
  %1 = "stablehlo.abs"(%v) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  "sdy.return"(%w, %1) {b} : (tensor<f32>, tensor<2x3xf32>) -> ()
}) {c, name = "f", in_shardings = #sdy.sharding_per_value<[<@mesh, [{"x"}, {}]>, <@mesh, []>]>, out_shardings = #sdy.sharding_per_value<[<@mesh, []>, <@mesh, [{"x"}, {}]>]>} : (tensor<2x3xf32>, tensor<f32>) -> (tensor<f32>, tensor<2x3xf32>)
"sdy.named_computation"() ({
  "sdy.return"() : () -> ()
}) {name = "g"} : () -> ()
// -----
// sdy manual computation
%0 = sdy.manual_computation(%a) in_shardings=[<@mesh, [{"x"}, {}]>] out_shardings=[<@mesh, [{"x"}, {}]>] manual_axes={"x", "y"} (%1: tensor<1x3xf32>) {
  sdy.return %1 : tensor<1x3xf32>
} : (tensor<2x3xf32>) -> tensor<2x3xf32>
sdy.manual_computation() in_shardings=[] out_shardings=[] manual_axes={} () {
  sdy.return
} : () -> ()
// generic
%0 = "sdy.manual_computation"(%a) ({
^bb0(%1: tensor<1x3xf32>):
  "sdy.return"(%1) : (tensor<1x3xf32>) -> ()
}) {in_shardings = #sdy.sharding_per_value<[<@mesh, [{"x"}, {}]>]>, manual_axes = #sdy<manual_axes{"x", "y"}>, out_shardings = #sdy.sharding_per_value<[<@mesh, [{"x"}, {}]>]>} : (tensor<2x3xf32>) -> tensor<2x3xf32>
"sdy.manual_computation"() ({
  "sdy.return"() : () -> ()
}) {in_shardings = #sdy.sharding_per_value<[]>, manual_axes = #sdy<manual_axes{}>, out_shardings = #sdy.sharding_per_value<[]>} : () -> ()
// -----
// sdy collectives
%0 = sdy.all_gather [{"x"}, {"y":(1)2}] %a out_sharding=<@mesh, [{}, {}]> : tensor<2x3xf32>
%1 = sdy.all_slice [{"x"}, {}] %0 out_sharding=<@mesh, [{"x"}, {}]> {b} : tensor<2x3xf32>
%2 = sdy.all_to_all [{"x", "y"}: 0->1] %1 out_sharding=<@mesh, [{}, {"x", "y"}]> : tensor<2x3xf32>
%3 = sdy.collective_permute %2 out_sharding=<@mesh, [{}, {"y", "x"}]> : tensor<2x3xf32>
%4 = sdy.all_reduce {"x"} %3 out_sharding=<@mesh, [{}, {}]> : tensor<2x3xf32>
%5 = sdy.all_reduce max {} %4 out_sharding=<@mesh, [{}, {}]> : tensor<2x3xf32>
%6 = sdy.reduce_scatter min [{"x"}, {}] %5 out_sharding=<@mesh, [{"x"}, {}]> : tensor<2x3xf32>
%7 = sdy.sharded_to_unreduced [{"x"}, {}] %6 out_sharding=<@mesh, [{}, {}], unreduced={"x"}> : tensor<2x3xf32>
%8 = sdy.replicated_to_unreduced {"x"} %7 out_sharding=<@mesh, [{}, {}], unreduced={"x"}> : tensor<2x3xf32>
// generic
%0 = "sdy.all_gather"(%a) {gathering_axes = #sdy<list_of_axis_ref_lists[{"x"}, {"y":(1)2}]>, out_sharding = #sdy.sharding<@mesh, [{}, {}]>} : (tensor<2x3xf32>) -> tensor<2x3xf32>
%1 = "sdy.all_slice"(%0) {b, slicing_axes = #sdy<list_of_axis_ref_lists[{"x"}, {}]>, out_sharding = #sdy.sharding<@mesh, [{"x"}, {}]>} : (tensor<2x3xf32>) -> tensor<2x3xf32>
%2 = "sdy.all_to_all"(%1) {params = #sdy<all_to_all_param_list[{"x", "y"}: 0->1]>, out_sharding = #sdy.sharding<@mesh, [{}, {"x", "y"}]>} : (tensor<2x3xf32>) -> tensor<2x3xf32>
%3 = "sdy.collective_permute"(%2) {out_sharding = #sdy.sharding<@mesh, [{}, {"y", "x"}]>} : (tensor<2x3xf32>) -> tensor<2x3xf32>
%4 = "sdy.all_reduce"(%3) {reduction_axes = #sdy<axis_ref_list{"x"}>, out_sharding = #sdy.sharding<@mesh, [{}, {}]>} : (tensor<2x3xf32>) -> tensor<2x3xf32>
%5 = "sdy.all_reduce"(%4) {reduction_axes = #sdy<axis_ref_list{}>, reduction_op = 1 : i32, out_sharding = #sdy.sharding<@mesh, [{}, {}]>} : (tensor<2x3xf32>) -> tensor<2x3xf32>
%6 = "sdy.reduce_scatter"(%5) {reduce_scatter_axes = #sdy<list_of_axis_ref_lists[{"x"}, {}]>, reduction_op = 2 : i32, out_sharding = #sdy.sharding<@mesh, [{"x"}, {}]>} : (tensor<2x3xf32>) -> tensor<2x3xf32>
%7 = "sdy.sharded_to_unreduced"(%6) {axes = #sdy<list_of_axis_ref_lists[{"x"}, {}]>, out_sharding = #sdy.sharding<@mesh, [{}, {}], unreduced={"x"}>} : (tensor<2x3xf32>) -> tensor<2x3xf32>
%8 = "sdy.replicated_to_unreduced"(%7) {axes = #sdy<axis_ref_list{"x"}>, out_sharding = #sdy.sharding<@mesh, [{}, {}], unreduced={"x"}>} : (tensor<2x3xf32>) -> tensor<2x3xf32>
