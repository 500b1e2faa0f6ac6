// Report: gather reads memory out of bounds instead of clamping the index
// Rule: specification, "gather": the start index is clamped to [0, size - slice size].
// Input: dense<[[1, 2], [3, 4], [5, 6]]> : tensor<3x2xi32>, dense<[[3], [-1], [2147483647]]> : tensor<3x1xi32>
// Right: dense<[[5, 6], [1, 2], [5, 6]]> : tensor<3x2xi32>
func.func @main(%x: tensor<3x2xi32>, %i: tensor<3x1xi32>) -> tensor<3x2xi32> {
  %0 = "stablehlo.gather"(%x, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 2>}> : (tensor<3x2xi32>, tensor<3x1xi32>) -> tensor<3x2xi32>
  return %0 : tensor<3x2xi32>
}
// -----
// Report: an unsigned index above the signed maximum is taken as negative
// Rule: specification, "gather": an index of an unsigned type is not negative, so it is clamped to the end.
// Input: dense<[10, 20, 30]> : tensor<3xi32>, dense<[[255], [1], [128]]> : tensor<3x1xui8>
// Right: dense<[30, 20, 30]> : tensor<3xi32>
func.func @main(%x: tensor<3xi32>, %i: tensor<3x1xui8>) -> tensor<3xi32> {
  %0 = "stablehlo.gather"(%x, %i) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1>}> : (tensor<3xi32>, tensor<3x1xui8>) -> tensor<3xi32>
  return %0 : tensor<3xi32>
}
// -----
// Report: an index of ui64 beyond the range of i64 wraps to a negative one
// Rule: specification, "dynamic_slice": clamp(0, start_indices, shape(operand) - slice_sizes).
// Input: dense<[1, 2, 3, 4]> : tensor<4xi32>, dense<18446744073709551615> : tensor<ui64>
// Right: dense<[3, 4]> : tensor<2xi32>
func.func @main(%x: tensor<4xi32>, %i: tensor<ui64>) -> tensor<2xi32> {
  %0 = stablehlo.dynamic_slice %x, %i, sizes = [2] : (tensor<4xi32>, tensor<ui64>) -> tensor<2xi32>
  return %0 : tensor<2xi32>
}
// -----
// Report: the bound of an index is computed in the index's own narrow type, so that valid updates are dropped
// Rule: specification, "scatter": an update is dropped only where its index is out of bounds of the operand.
// Input: dense<0> : tensor<300xi32>, dense<[[200]]> : tensor<1x1xui8>, dense<[7]> : tensor<1xi32>
// Right: dense<7> : tensor<1xi32>, dense<7> : tensor<i32>
func.func @main(%x: tensor<300xi32>, %i: tensor<1x1xui8>, %u: tensor<1xi32>) -> (tensor<1xi32>, tensor<i32>) {
  %0 = "stablehlo.scatter"(%x, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    %s = stablehlo.add %a, %b : tensor<i32>
    stablehlo.return %s : tensor<i32>
  }) : (tensor<300xi32>, tensor<1x1xui8>, tensor<1xi32>) -> tensor<300xi32>
  %1 = stablehlo.slice %0 [200:201] : (tensor<300xi32>) -> tensor<1xi32>
  %z = stablehlo.constant dense<0> : tensor<i32>
  %2 = stablehlo.reduce(%0 init: %z) applies stablehlo.add across dimensions = [0] : (tensor<300xi32>, tensor<i32>) -> tensor<i32>
  return %1, %2 : tensor<1xi32>, tensor<i32>
}
// -----
// Report: updates out of bounds land in the next row
// Rule: specification, "scatter": an update whose result index is out of bounds of the operand is dropped.
// Input: dense<0> : tensor<2x3xi32>, dense<[[0, 3], [1, -1], [0, 2]]> : tensor<3x2xi32>, dense<[1, 2, 3]> : tensor<3xi32>
// Right: dense<[[0, 0, 3], [0, 0, 0]]> : tensor<2x3xi32>
func.func @main(%x: tensor<2x3xi32>, %i: tensor<3x2xi32>, %u: tensor<3xi32>) -> tensor<2x3xi32> {
  %0 = "stablehlo.scatter"(%x, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0, 1], scatter_dims_to_operand_dims = [0, 1], index_vector_dim = 1>}> ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    stablehlo.return %b : tensor<i32>
  }) : (tensor<2x3xi32>, tensor<3x2xi32>, tensor<3xi32>) -> tensor<2x3xi32>
  return %0 : tensor<2x3xi32>
}
// -----
// Report: duplicate indices of a scatter that multiplies apply one update only
// Rule: specification, "scatter": the update computation is applied for each update of a result index.
// Input: dense<1> : tensor<3xi32>, dense<[[1], [1], [1]]> : tensor<3x1xi32>, dense<[2, 3, 5]> : tensor<3xi32>
// Right: dense<[1, 30, 1]> : tensor<3xi32>
func.func @main(%x: tensor<3xi32>, %i: tensor<3x1xi32>, %u: tensor<3xi32>) -> tensor<3xi32> {
  %0 = "stablehlo.scatter"(%x, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    %s = stablehlo.multiply %a, %b : tensor<i32>
    stablehlo.return %s : tensor<i32>
  }) : (tensor<3xi32>, tensor<3x1xi32>, tensor<3xi32>) -> tensor<3xi32>
  return %0 : tensor<3xi32>
}
// -----
// Report: batching dimensions of a gather are read from the first batch only
// Rule: specification, "gather": the index along operand_batching_dims is that of start_indices_batching_dims.
// Input: dense<[[1, 2, 3], [4, 5, 6]]> : tensor<2x3xi32>, dense<[[[2]], [[9]]]> : tensor<2x1x1xi32>
// Right: dense<[[3], [6]]> : tensor<2x1xi32>
func.func @main(%x: tensor<2x3xi32>, %i: tensor<2x1x1xi32>) -> tensor<2x1xi32> {
  %0 = "stablehlo.gather"(%x, %i) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [1], operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [1], index_vector_dim = 2>, slice_sizes = array<i64: 1, 1>}> : (tensor<2x3xi32>, tensor<2x1x1xi32>) -> tensor<2x1xi32>
  return %0 : tensor<2x1xi32>
}
// -----
// Report: an index out of bounds of a batched scatter writes to the next batch
// Rule: specification, "scatter": the update is dropped where any of its indices is out of bounds.
// Input: dense<0> : tensor<2x3xi32>, dense<[[[3]], [[0]]]> : tensor<2x1x1xi32>, dense<[[1], [2]]> : tensor<2x1xi32>
// Right: dense<[[0, 0, 0], [2, 0, 0]]> : tensor<2x3xi32>
func.func @main(%x: tensor<2x3xi32>, %i: tensor<2x1x1xi32>, %u: tensor<2x1xi32>) -> tensor<2x3xi32> {
  %0 = "stablehlo.scatter"(%x, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [1], input_batching_dims = [0], scatter_indices_batching_dims = [0], scatter_dims_to_operand_dims = [1], index_vector_dim = 2>}> ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    %s = stablehlo.add %a, %b : tensor<i32>
    stablehlo.return %s : tensor<i32>
  }) : (tensor<2x3xi32>, tensor<2x1x1xi32>, tensor<2x1xi32>) -> tensor<2x3xi32>
  return %0 : tensor<2x3xi32>
}
// -----
// Report: nested slices add their starts before clamping, so that the inner one moves
// Rule: specification, "dynamic_slice": each operation clamps its own start.
// Input: dense<[0, 1, 2, 3, 4, 5, 6, 7]> : tensor<8xi32>, dense<7> : tensor<i32>, dense<-3> : tensor<i32>
// Right: dense<[4, 5]> : tensor<2xi32>
func.func @main(%x: tensor<8xi32>, %i: tensor<i32>, %j: tensor<i32>) -> tensor<2xi32> {
  %0 = stablehlo.dynamic_slice %x, %i, sizes = [4] : (tensor<8xi32>, tensor<i32>) -> tensor<4xi32>
  %1 = stablehlo.dynamic_slice %0, %j, sizes = [2] : (tensor<4xi32>, tensor<i32>) -> tensor<2xi32>
  return %1 : tensor<2xi32>
}
// -----
// Report: an update that is sliced again at its own unclamped index is replaced by the update
// Rule: specification, "dynamic_update_slice": the start is clamped to [0, size - update size].
// Input: dense<[0, 1, 2, 3, 4]> : tensor<5xi32>, dense<[8, 9]> : tensor<2xi32>, dense<4> : tensor<i32>
// Right: dense<[0, 1, 2, 8, 9]> : tensor<5xi32>, dense<[9]> : tensor<1xi32>
func.func @main(%x: tensor<5xi32>, %u: tensor<2xi32>, %i: tensor<i32>) -> (tensor<5xi32>, tensor<1xi32>) {
  %0 = stablehlo.dynamic_update_slice %x, %u, %i : (tensor<5xi32>, tensor<2xi32>, tensor<i32>) -> tensor<5xi32>
  %1 = stablehlo.dynamic_slice %0, %i, sizes = [1] : (tensor<5xi32>, tensor<i32>) -> tensor<1xi32>
  return %0, %1 : tensor<5xi32>, tensor<1xi32>
}
// -----
// Report: the sum of narrow indices overflows in the compiled loop
// Rule: specification, "add": i8 wraps, so 100 + 100 is -56, which the slice clamps to 0.
// Input: dense<5> : tensor<300xi32>, dense<100> : tensor<i8>
// Right: dense<[5]> : tensor<1xi32>, dense<-56> : tensor<i8>
func.func @main(%x: tensor<300xi32>, %i: tensor<i8>) -> (tensor<1xi32>, tensor<i8>) {
  %0 = stablehlo.add %i, %i : tensor<i8>
  %1 = stablehlo.dynamic_slice %x, %0, sizes = [1] : (tensor<300xi32>, tensor<i8>) -> tensor<1xi32>
  return %1, %0 : tensor<1xi32>, tensor<i8>
}
// -----
// Report: a gather of whole slices with no index reads at random
// Rule: specification, "gather": a start_indices of size zero along index_vector_dim selects at 0.
// Input: dense<[1, 2, 3]> : tensor<3xi32>, dense<> : tensor<2x0xi32>
// Right: dense<[[1, 2], [1, 2]]> : tensor<2x2xi32>
func.func @main(%x: tensor<3xi32>, %i: tensor<2x0xi32>) -> tensor<2x2xi32> {
  %0 = "stablehlo.gather"(%x, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], index_vector_dim = 1>, slice_sizes = array<i64: 2>}> : (tensor<3xi32>, tensor<2x0xi32>) -> tensor<2x2xi32>
  return %0 : tensor<2x2xi32>
}
// -----
// Report: scatter with an empty list of updates fails
// Rule: specification, "scatter": without updates the results are the inputs.
// Input: dense<[1, 2]> : tensor<2xi32>, dense<> : tensor<0x1xi32>, dense<> : tensor<0xi32>
// Right: dense<[1, 2]> : tensor<2xi32>
func.func @main(%x: tensor<2xi32>, %i: tensor<0x1xi32>, %u: tensor<0xi32>) -> tensor<2xi32> {
  %0 = "stablehlo.scatter"(%x, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    stablehlo.return %b : tensor<i32>
  }) : (tensor<2xi32>, tensor<0x1xi32>, tensor<0xi32>) -> tensor<2xi32>
  return %0 : tensor<2xi32>
}
// -----
// Report: a slice larger than its operand is accepted and reads beyond it
// Rule: specification, "gather" (C22): slice_sizes <= shape(operand).
// Input: dense<0> : tensor<1x1xi32>, dense<0> : tensor<3xi32>
// Right: VerifyError
func.func @main(%i: tensor<1x1xi32>, %x: tensor<3xi32>) -> tensor<1x4xi32> {
  %0 = "stablehlo.gather"(%x, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 4>}> : (tensor<3xi32>, tensor<1x1xi32>) -> tensor<1x4xi32>
  return %0 : tensor<1x4xi32>
}
// -----
// Report: a scatter whose index is that of a dimension in the middle writes along the first one
// Rule: specification, "scatter": scatter_dims_to_operand_dims says to which dimension an index belongs.
// Input: dense<0> : tensor<2x3x2xi32>, dense<[[2]]> : tensor<1x1xi32>, dense<[[[1, 2]], [[3, 4]]]> : tensor<2x1x2xi32>
// Right: dense<[[[0, 0], [0, 0], [1, 2]], [[0, 0], [0, 0], [3, 4]]]> : tensor<2x3x2xi32>
func.func @main(%x: tensor<2x3x2xi32>, %i: tensor<1x1xi32>, %u: tensor<2x1x2xi32>) -> tensor<2x3x2xi32> {
  %0 = "stablehlo.scatter"(%x, %i, %u) ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    stablehlo.return %b : tensor<i32>
  }) {scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [0, 2], inserted_window_dims = [1], scatter_dims_to_operand_dims = [1], index_vector_dim = 1>} : (tensor<2x3x2xi32>, tensor<1x1xi32>, tensor<2x1x2xi32>) -> tensor<2x3x2xi32>
  return %0 : tensor<2x3x2xi32>
}
// -----
// Report: the components of index vectors are taken in the order of the dimensions, not of the map
// Rule: specification, "gather": full_start_index(start_index_map[d]) = start_index(d).
// Input: dense<[[1, 2, 3], [4, 5, 6]]> : tensor<2x3xi32>, dense<[[2, 0], [1, 1]]> : tensor<2x2xi32>
// Right: dense<[3, 5]> : tensor<2xi32>
func.func @main(%x: tensor<2x3xi32>, %i: tensor<2x2xi32>) -> tensor<2xi32> {
  %0 = "stablehlo.gather"(%x, %i) {dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0, 1], start_index_map = [1, 0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 1>} : (tensor<2x3xi32>, tensor<2x2xi32>) -> tensor<2xi32>
  return %0 : tensor<2xi32>
}
// -----
// Report: a row that is rotated and written back reads elements that it has already overwritten
// Rule: specification, "dynamic_update_slice": the update is a value, computed from the operand as it was.
// Input: dense<[[1, 2, 3, 4], [5, 6, 7, 8]]> : tensor<2x4xi32>
// Right: dense<[[4, 1, 2, 3], [5, 6, 7, 8]]> : tensor<2x4xi32>
func.func @main(%x: tensor<2x4xi32>) -> tensor<2x4xi32> {
  %z = stablehlo.constant dense<0> : tensor<i32>
  %0 = stablehlo.slice %x [0:1, 3:4] : (tensor<2x4xi32>) -> tensor<1x1xi32>
  %1 = stablehlo.slice %x [0:1, 0:3] : (tensor<2x4xi32>) -> tensor<1x3xi32>
  %2 = stablehlo.concatenate %0, %1, dim = 1 : (tensor<1x1xi32>, tensor<1x3xi32>) -> tensor<1x4xi32>
  %3 = stablehlo.dynamic_update_slice %x, %2, %z, %z : (tensor<2x4xi32>, tensor<1x4xi32>, tensor<i32>, tensor<i32>) -> tensor<2x4xi32>
  return %3 : tensor<2x4xi32>
}
// -----
// Report: a selection of rows by index in batches, as old exporters write it, is refused or ignores the batch
// Rule: docs/operations.md: "torch_index_select" takes for each batch the rows that its indices name.
// Input: dense<[[[1, 2], [3, 4]], [[5, 6], [7, 8]]]> : tensor<2x2x2xi32>, dense<[[1, 0], [1, 1]]> : tensor<2x2xi32>
// Right: dense<[[[3, 4], [1, 2]], [[7, 8], [7, 8]]]> : tensor<2x2x2xi32>
func.func @main(%x: tensor<2x2x2xi32>, %i: tensor<2x2xi32>) -> tensor<2x2x2xi32> {
  %0 = "stablehlo.torch_index_select"(%x, %i) {dim = 1 : i64, batch_dims = 1 : i64} : (tensor<2x2x2xi32>, tensor<2x2xi32>) -> tensor<2x2x2xi32>
  return %0 : tensor<2x2x2xi32>
}
// -----
// Report: rows of a complex array that was written into zeros are gathered as zeros
// Rule: specification, "gather" and "dynamic_update_slice": elements of the operand, which the update has replaced.
// Input: dense<[(1.0, 2.0), (3.0, -4.0), (5.0, 0.5)]> : tensor<3xcomplex<f64>>, dense<[2, 0]> : tensor<2xi64>
// Right: dense<[[(5.0, 0.5)], [(1.0, 2.0)]]> : tensor<2x1xcomplex<f64>>
func.func @main(%x: tensor<3xcomplex<f64>>, %i: tensor<2xi64>) -> tensor<2x1xcomplex<f64>> {
  %o = stablehlo.constant dense<(0.0, 0.0)> : tensor<3x1xcomplex<f64>>
  %z = stablehlo.constant dense<0> : tensor<i64>
  %0 = stablehlo.reshape %x : (tensor<3xcomplex<f64>>) -> tensor<3x1xcomplex<f64>>
  %1 = stablehlo.dynamic_update_slice %o, %0, %z, %z : (tensor<3x1xcomplex<f64>>, tensor<3x1xcomplex<f64>>, tensor<i64>, tensor<i64>) -> tensor<3x1xcomplex<f64>>
  %2 = "stablehlo.gather"(%1, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 1>}> : (tensor<3x1xcomplex<f64>>, tensor<2xi64>) -> tensor<2x1xcomplex<f64>>
  return %2 : tensor<2x1xcomplex<f64>>
}
