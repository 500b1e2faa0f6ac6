// Report: `scatter` drops whole windows that are partly out of bounds
// Rule: specification, "scatter": "If result_index is in bounds for shape(results...)" the update is applied, element by element.
// Input: dense<[1, 2, 3]> : tensor<3xi32>, dense<2> : tensor<1xi32>, dense<[10, 20]> : tensor<2xi32>
// Right: dense<[1, 2, 13]> : tensor<3xi32>
func.func @main(%x: tensor<3xi32>, %i: tensor<1xi32>, %u: tensor<2xi32>) -> tensor<3xi32> {
  %0 = "stablehlo.scatter"(%x, %i, %u) ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    %s = stablehlo.add %a, %b : tensor<i32>
    stablehlo.return %s : tensor<i32>
  }) {scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [0], scatter_dims_to_operand_dims = [0]>} : (tensor<3xi32>, tensor<1xi32>, tensor<2xi32>) -> tensor<3xi32>
  return %0 : tensor<3xi32>
}
// -----
// Report: `scatter` without index components applies one update of several
// Rule: specification, "scatter": "for all update_index in index_space(updates[0])".
// Input: dense<0> : tensor<1xi32>, dense<[1, 2]> : tensor<2xi32>
// Right: dense<3> : tensor<1xi32>
func.func @main(%x: tensor<1xi32>, %u: tensor<2xi32>) -> tensor<1xi32> {
  %i = stablehlo.constant dense<> : tensor<0x2xi32>
  %0 = "stablehlo.scatter"(%x, %i, %u) ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    %s = stablehlo.add %a, %b : tensor<i32>
    stablehlo.return %s : tensor<i32>
  }) {scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0]>} : (tensor<1xi32>, tensor<0x2xi32>, tensor<2xi32>) -> tensor<1xi32>
  return %0 : tensor<1xi32>
}
// -----
// Report: `scatter` into one array as several inputs returns the first result for each
// Rule: specification, "scatter": "results[...] = update_computation(results[...], updates[...])", for each input its own updates.
// Input: dense<0> : tensor<2xi32>, dense<[[0], [1]]> : tensor<2x1xi32>, dense<[1, 2]> : tensor<2xi32>, dense<[3, 4]> : tensor<2xi32>
// Right: dense<[1, 2]> : tensor<2xi32>, dense<[3, 4]> : tensor<2xi32>
func.func @main(%x: tensor<2xi32>, %i: tensor<2x1xi32>, %u: tensor<2xi32>, %v: tensor<2xi32>) -> (tensor<2xi32>, tensor<2xi32>) {
  %0:2 = "stablehlo.scatter"(%x, %x, %i, %u, %v) ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>, %c: tensor<i32>, %d: tensor<i32>):
    %s = stablehlo.add %a, %c : tensor<i32>
    %t = stablehlo.add %b, %d : tensor<i32>
    stablehlo.return %s, %t : tensor<i32>, tensor<i32>
  }) {scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>} : (tensor<2xi32>, tensor<2xi32>, tensor<2x1xi32>, tensor<2xi32>, tensor<2xi32>) -> (tensor<2xi32>, tensor<2xi32>)
  return %0#0, %0#1 : tensor<2xi32>, tensor<2xi32>
}
// -----
// Report: `sort` along a negative dimension does nothing
// Rule: specification, "sort": "adjusted_dimension = dimension >= 0 ? dimension : rank(inputs[0]) + dimension".
// Input: dense<[[3, 1], [2, 4]]> : tensor<2x2xi32>
// Right: dense<[[2, 1], [3, 4]]> : tensor<2x2xi32>
func.func @main(%x: tensor<2x2xi32>) -> tensor<2x2xi32> {
  %0 = "stablehlo.sort"(%x) ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    %p = stablehlo.compare LT, %a, %b : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  }) {dimension = -2 : i64} : (tensor<2x2xi32>) -> tensor<2x2xi32>
  return %0 : tensor<2x2xi32>
}
// -----
// Report: `sort` of integers of 2 bits loses elements
// Rule: specification, "sort": "result_slices = ... sorted", a permutation of each slice of the operand.
// Input: dense<[[1, -2, 0, -1], [0, 0, 1, -1], [1, 1, -2, 0]]> : tensor<3x4xi2>
// Right: dense<[[-2, -1, 0, 1], [-1, 0, 0, 1], [-2, 0, 1, 1]]> : tensor<3x4xi2>
func.func @main(%x: tensor<3x4xi2>) -> tensor<3x4xi2> {
  %0 = "stablehlo.sort"(%x) ({
  ^bb0(%a: tensor<i2>, %b: tensor<i2>):
    %p = stablehlo.compare LT, %a, %b : (tensor<i2>, tensor<i2>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  }) {dimension = 1 : i64} : (tensor<3x4xi2>) -> tensor<3x4xi2>
  return %0 : tensor<3x4xi2>
}
// -----
// Report: a stable `sort` changes the order of equal elements
// Rule: specification, "sort": "If is_stable is true, then the sorting is stable, that is, relative order of elements considered to be equal by the comparator is preserved".
// Input: dense<[1, 0, 1, 0, 1, 0, 1]> : tensor<7xi32>, dense<[0, 1, 2, 3, 4, 5, 6]> : tensor<7xi32>
// Right: dense<[0, 0, 0, 1, 1, 1, 1]> : tensor<7xi32>, dense<[1, 3, 5, 0, 2, 4, 6]> : tensor<7xi32>
func.func @main(%x: tensor<7xi32>, %y: tensor<7xi32>) -> (tensor<7xi32>, tensor<7xi32>) {
  %0:2 = "stablehlo.sort"(%x, %y) ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>, %c: tensor<i32>, %d: tensor<i32>):
    %p = stablehlo.compare LT, %a, %b : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  }) {dimension = 0 : i64, is_stable = true} : (tensor<7xi32>, tensor<7xi32>) -> (tensor<7xi32>, tensor<7xi32>)
  return %0#0, %0#1 : tensor<7xi32>, tensor<7xi32>
}
// -----
// Report: a boolean has eight bits in `bitcast_convert`
// Rule: specification, "bitcast_convert", constraint C1: "dim(operand, R - 1) * num_bits(E) = num_bits(E')" for a wider E', and i1 has one bit.
// Input: dense<[[true, false, true, false, false, false, false, false]]> : tensor<1x8xi1>
// Right: dense<5> : tensor<1xi8>
func.func @main(%x: tensor<1x8xi1>) -> tensor<1xi8> {
  %0 = stablehlo.bitcast_convert %x : (tensor<1x8xi1>) -> tensor<1xi8>
  return %0 : tensor<1xi8>
}
// -----
// Report: `bitcast_convert` between complex types ends the process
// Rule: specification, "bitcast_convert": "If num_bits(E') > num_bits(E), bits(result[i0, ..., iR-2]) = bits(operand[i0, ..., iR-2, :])".
// Input: dense<(0.0, 0.0)> : tensor<1x2xcomplex<f32>>
// Right: dense<(0.0, 0.0)> : tensor<1xcomplex<f64>>
func.func @main(%x: tensor<1x2xcomplex<f32>>) -> tensor<1xcomplex<f64>> {
  %0 = stablehlo.bitcast_convert %x : (tensor<1x2xcomplex<f32>>) -> tensor<1xcomplex<f64>>
  return %0 : tensor<1xcomplex<f64>>
}
// -----
// Report: `concatenate` of integers of 2 bits ends the process
// Rule: specification, "concatenate": "Concatenates inputs along dimension dimension in the same order as the given arguments".
// Input: dense<[[1, -2, 0]]> : tensor<1x3xi2>, dense<[[-1, 0, 1]]> : tensor<1x3xi2>
// Right: dense<[[1, -2, 0], [-1, 0, 1]]> : tensor<2x3xi2>
func.func @main(%x: tensor<1x3xi2>, %y: tensor<1x3xi2>) -> tensor<2x3xi2> {
  %0 = stablehlo.concatenate %x, %y, dim = 0 : (tensor<1x3xi2>, tensor<1x3xi2>) -> tensor<2x3xi2>
  return %0 : tensor<2x3xi2>
}
// -----
// Report: a constant of 6 bits ends the process
// Rule: specification, "Types": f6E2M3FN is an element type, and "constant" produces a tensor of any.
// Right: dense<[1.0, -2.0]> : tensor<2xf6E2M3FN>
func.func @main() -> tensor<2xf6E2M3FN> {
  %0 = stablehlo.constant dense<[1.0, -2.0]> : tensor<2xf6E2M3FN>
  return %0 : tensor<2xf6E2M3FN>
}
// -----
// Report: a slice of a slice that begins out of bounds is not clamped
// Rule: specification, "dynamic_slice": "adjusted_start_indices = clamp(0, start_indices, shape(operand) - slice_sizes)", of each slice.
// Input: dense<[0, 1, 2, 3, 4]> : tensor<5xi32>, dense<3> : tensor<i32>, dense<0> : tensor<i32>
// Right: dense<1> : tensor<1xi32>
func.func @main(%a: tensor<5xi32>, %s: tensor<i32>, %i: tensor<i32>) -> tensor<1xi32> {
  %0 = stablehlo.dynamic_slice %a, %s, sizes = [4] : (tensor<5xi32>, tensor<i32>) -> tensor<4xi32>
  %1 = stablehlo.dynamic_slice %0, %i, sizes = [1] : (tensor<4xi32>, tensor<i32>) -> tensor<1xi32>
  return %1 : tensor<1xi32>
}
// -----
// Report: `top_k` of equal elements returns other indices than the first ones
// Rule: CHLO, "top_k": "If two elements are equal, the lower-index element appears first" (docs/numerics.md).
// Input: dense<[1, 3, 3, 1, 3, 2]> : tensor<6xi32>
// Right: dense<[3, 3, 3, 2]> : tensor<4xi32>, dense<[1, 2, 4, 5]> : tensor<4xi32>
func.func @main(%x: tensor<6xi32>) -> (tensor<4xi32>, tensor<4xi32>) {
  %0:2 = "chlo.top_k"(%x) {k = 4 : i64} : (tensor<6xi32>) -> (tensor<4xi32>, tensor<4xi32>)
  return %0#0, %0#1 : tensor<4xi32>, tensor<4xi32>
}
// -----
// Report: `scatter` with an index out of bounds ends the process
// Rule: specification, "scatter": "If result_index is in bounds for shape(results...)" the update is applied; else nothing is.
// Input: dense<0> : tensor<4x3xi32>, dense<[1, -1, 4, 2]> : tensor<4xi32>, dense<1> : tensor<4x3xi32>
// Right: dense<[[0, 0, 0], [1, 1, 1], [1, 1, 1], [0, 0, 0]]> : tensor<4x3xi32>
func.func @main(%x: tensor<4x3xi32>, %i: tensor<4xi32>, %u: tensor<4x3xi32>) -> tensor<4x3xi32> {
  %0 = "stablehlo.scatter"(%x, %i, %u) ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    %s = stablehlo.add %a, %b : tensor<i32>
    stablehlo.return %s : tensor<i32>
  }) {scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>} : (tensor<4x3xi32>, tensor<4xi32>, tensor<4x3xi32>) -> tensor<4x3xi32>
  return %0 : tensor<4x3xi32>
}
