// Report: a convolution with negative low and positive high padding reads the next row
// Rule: specification, "convolution": the operand is padded first, as by "pad"; the padding is zero.
// Input: dense<[[[[1.0], [2.0], [3.0]], [[4.0], [5.0], [6.0]]]]> : tensor<1x2x3x1xf32>, dense<1.0> : tensor<1x1x1x1xf32>
// Right: dense<[[[[3.0], [0.0]], [[6.0], [0.0]]]]> : tensor<1x2x2x1xf32>
func.func @main(%x: tensor<1x2x3x1xf32>, %k: tensor<1x1x1x1xf32>) -> tensor<1x2x2x1xf32> {
  %0 = stablehlo.convolution(%x, %k) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {pad = [[0, 0], [-2, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x2x3x1xf32>, tensor<1x1x1x1xf32>) -> tensor<1x2x2x1xf32>
  return %0 : tensor<1x2x2x1xf32>
}
// -----
// Report: groups of features are assigned by remainder instead of by division
// Rule: specification, "convolution": feature groups are contiguous blocks of input and output features.
// Input: dense<[[[1.0, 2.0, 4.0, 8.0]]]> : tensor<1x1x4xf32>, dense<[[[1.0, 10.0], [1.0, 10.0]]]> : tensor<1x2x2xf32>
// Right: dense<[[[3.0, 120.0]]]> : tensor<1x1x2xf32>
func.func @main(%x: tensor<1x1x4xf32>, %k: tensor<1x2x2xf32>) -> tensor<1x1x2xf32> {
  %0 = stablehlo.convolution(%x, %k) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 2 : i64} : (tensor<1x1x4xf32>, tensor<1x2x2xf32>) -> tensor<1x1x2xf32>
  return %0 : tensor<1x1x2xf32>
}
// -----
// Report: groups of batches give the outputs of another group
// Rule: specification, "convolution": batch group g is convolved with output features of group g.
// Input: dense<[[[1.0]], [[2.0]]]> : tensor<2x1x1xf32>, dense<[[[10.0, 100.0]]]> : tensor<1x1x2xf32>
// Right: dense<[[[10.0, 200.0]]]> : tensor<1x1x2xf32>
func.func @main(%x: tensor<2x1x1xf32>, %k: tensor<1x1x2xf32>) -> tensor<1x1x2xf32> {
  %0 = stablehlo.convolution(%x, %k) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {} {batch_group_count = 2 : i64, feature_group_count = 1 : i64} : (tensor<2x1x1xf32>, tensor<1x1x2xf32>) -> tensor<1x1x2xf32>
  return %0 : tensor<1x1x2xf32>
}
// -----
// Report: a reversed window with dilation is reversed before it is dilated by one position
// Rule: specification, "convolution": window_reversal reverses the kernel's spatial dimensions.
// Input: dense<[[[1.0], [2.0], [3.0]]]> : tensor<1x3x1xf32>, dense<[[[10.0]], [[1.0]]]> : tensor<2x1x1xf32>
// Right: dense<[[[31.0]]]> : tensor<1x1x1xf32>
func.func @main(%x: tensor<1x3x1xf32>, %k: tensor<2x1x1xf32>) -> tensor<1x1x1xf32> {
  %0 = stablehlo.convolution(%x, %k) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {rhs_dilate = [2], reverse = [true]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x3x1xf32>, tensor<2x1x1xf32>) -> tensor<1x1x1xf32>
  return %0 : tensor<1x1x1xf32>
}
// -----
// Report: a convolution with run-time padding takes the low padding for both edges
// Rule: specification, "dynamic_conv": as "convolution", with padding as an operand of pairs (low, high).
// Input: dense<[[[1.0], [2.0]]]> : tensor<1x2x1xf32>, dense<1.0> : tensor<1x1x1xf32>, dense<[[0, 2]]> : tensor<1x2xi32>
// Right: dense<[[[1.0], [2.0], [0.0], [0.0]]]> : tensor<1x4x1xf32>
func.func @main(%x: tensor<1x2x1xf32>, %k: tensor<1x1x1xf32>, %p: tensor<1x2xi32>) -> tensor<1x?x1xf32> {
  %0 = "stablehlo.dynamic_conv"(%x, %k, %p) <{dimension_numbers = #stablehlo.conv<[b, 0, f]x[0, i, o]->[b, 0, f]>, batch_group_count = 1 : i64, feature_group_count = 1 : i64}> : (tensor<1x2x1xf32>, tensor<1x1x1xf32>, tensor<1x2xi32>) -> tensor<1x?x1xf32>
  return %0 : tensor<1x?x1xf32>
}
// -----
// Report: a product over an empty dimension leaves its result uninitialized
// Rule: specification, "dot_general": a sum of no products is 0.
// Input: dense<> : tensor<2x0xf32>, dense<> : tensor<0x3xf32>
// Right: dense<0.0> : tensor<2x3xf32>
func.func @main(%x: tensor<2x0xf32>, %y: tensor<0x3xf32>) -> tensor<2x3xf32> {
  %0 = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0] : (tensor<2x0xf32>, tensor<0x3xf32>) -> tensor<2x3xf32>
  return %0 : tensor<2x3xf32>
}
// -----
// Report: batch dimensions given in another order than they lie are paired by position
// Rule: specification, "dot_general": the result's batch dimensions are in the order of lhs_batching_dimensions.
// Input: dense<[[1, 2, 3], [4, 5, 6]]> : tensor<2x3xi32>, dense<[[1, 10], [2, 20], [3, 30]]> : tensor<3x2xi32>
// Right: dense<[[1, 40], [4, 100], [9, 180]]> : tensor<3x2xi32>
func.func @main(%x: tensor<2x3xi32>, %y: tensor<3x2xi32>) -> tensor<3x2xi32> {
  %0 = stablehlo.dot_general %x, %y, batching_dims = [1, 0] x [0, 1], contracting_dims = [] x [] : (tensor<2x3xi32>, tensor<3x2xi32>) -> tensor<3x2xi32>
  return %0 : tensor<3x2xi32>
}
// -----
// Report: a product of i8 with a result of i32 overflows at 8 bits
// Rule: docs/numerics.md, products of several kinds: operands are widened to the result's type ("dot_general").
// Input: dense<[[127, 127]]> : tensor<1x2xi8>, dense<[[127], [127]]> : tensor<2x1xi8>
// Right: dense<[[32258]]> : tensor<1x1xi32>
func.func @main(%x: tensor<1x2xi8>, %y: tensor<2x1xi8>) -> tensor<1x1xi32> {
  %0 = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0] : (tensor<1x2xi8>, tensor<2x1xi8>) -> tensor<1x1xi32>
  return %0 : tensor<1x1xi32>
}
// -----
// Report: zero times infinity in a product is skipped as sparse
// Rule: specification, "dot_general": products and sums of IEEE-754, so NaN.
// Input: dense<[[0.0, 1.0]]> : tensor<1x2xf32>, dense<[[0x7F800000], [1.0]]> : tensor<2x1xf32>
// Right: dense<[[0x7FC00000]]> : tensor<1x1xf32>
func.func @main(%x: tensor<1x2xf32>, %y: tensor<2x1xf32>) -> tensor<1x1xf32> {
  %0 = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0] : (tensor<1x2xf32>, tensor<2x1xf32>) -> tensor<1x1xf32>
  return %0 : tensor<1x1xf32>
}
// -----
// Report: a transform of length 1, or of an odd length, is refused or wrong
// Rule: specification, "fft": the transform of one element is that element; IRFFT gives fft_length elements.
// Input: dense<[(2.0, 3.0)]> : tensor<1xcomplex<f32>>, dense<[(6.0, 0.0), (0.0, 0.0)]> : tensor<2xcomplex<f32>>
// Right: dense<[(2.0, 3.0)]> : tensor<1xcomplex<f32>>, dense<[2.0, 2.0, 2.0]> : tensor<3xf32>
func.func @main(%x: tensor<1xcomplex<f32>>, %y: tensor<2xcomplex<f32>>) -> (tensor<1xcomplex<f32>>, tensor<3xf32>) {
  %0 = stablehlo.fft %x, type = FFT, length = [1] : (tensor<1xcomplex<f32>>) -> tensor<1xcomplex<f32>>
  %1 = stablehlo.fft %y, type = IRFFT, length = [3] : (tensor<2xcomplex<f32>>) -> tensor<3xf32>
  return %0, %1 : tensor<1xcomplex<f32>>, tensor<3xf32>
}
// -----
// Report: a transform of no rows fails
// Rule: specification, "fft": the leading dimensions may be empty.
// Input: dense<> : tensor<0x4xf32>
// Right: dense<> : tensor<0x3xcomplex<f32>>
func.func @main(%x: tensor<0x4xf32>) -> tensor<0x3xcomplex<f32>> {
  %0 = stablehlo.fft %x, type = RFFT, length = [4] : (tensor<0x4xf32>) -> tensor<0x3xcomplex<f32>>
  return %0 : tensor<0x3xcomplex<f32>>
}
// -----
// Report: the factor of a matrix that is not positive definite has numbers that look right
// Rule: docs/numerics.md: "cholesky" gives NaN where the matrix is not positive definite.
// Input: dense<[[-1.0]]> : tensor<1x1xf32>
// Right: dense<[[0x7FC00000]]> : tensor<1x1xf32>
func.func @main(%x: tensor<1x1xf32>) -> tensor<1x1xf32> {
  %0 = stablehlo.cholesky %x, lower = true : tensor<1x1xf32>
  return %0 : tensor<1x1xf32>
}
// -----
// Report: a factorization reads the triangle that the attribute does not name
// Rule: specification, "cholesky": lower = true reads the lower triangle of the operand.
// Input: dense<[[4.0, 0x7FC00000], [2.0, 2.0]]> : tensor<2x2xf32>
// Right: dense<[2.0, 1.0, 1.0]> : tensor<3xf32>
func.func @main(%x: tensor<2x2xf32>) -> tensor<3xf32> {
  %0 = stablehlo.cholesky %x, lower = true : tensor<2x2xf32>
  %1 = stablehlo.reshape %0 : (tensor<2x2xf32>) -> tensor<4xf32>
  %2 = stablehlo.slice %1 [0:1] : (tensor<4xf32>) -> tensor<1xf32>
  %3 = stablehlo.slice %1 [2:4] : (tensor<4xf32>) -> tensor<2xf32>
  %4 = stablehlo.concatenate %2, %3, dim = 0 : (tensor<1xf32>, tensor<2xf32>) -> tensor<3xf32>
  return %4 : tensor<3xf32>
}
// -----
// Report: a solver with a unit diagonal divides by the diagonal, or reads the other triangle
// Rule: specification, "triangular_solve": unit_diagonal assumes ones; elements of the other triangle are not read.
// Input: dense<[[0.0, 0x7FC00000], [3.0, 0x7FC00000]]> : tensor<2x2xf32>, dense<[[1.0], [5.0]]> : tensor<2x1xf32>
// Right: dense<[[1.0], [2.0]]> : tensor<2x1xf32>
func.func @main(%a: tensor<2x2xf32>, %b: tensor<2x1xf32>) -> tensor<2x1xf32> {
  %0 = "stablehlo.triangular_solve"(%a, %b) <{left_side = true, lower = true, unit_diagonal = true, transpose_a = #stablehlo<transpose NO_TRANSPOSE>}> : (tensor<2x2xf32>, tensor<2x1xf32>) -> tensor<2x1xf32>
  return %0 : tensor<2x1xf32>
}
// -----
// Report: a batch normalization adds epsilon after the square root
// Rule: specification, "batch_norm_inference": (operand - mean) / sqrt(variance + epsilon) * scale + offset.
// Input: dense<[[3.0, 1.0]]> : tensor<1x2xf32>, dense<[2.0, 1.0]> : tensor<2xf32>, dense<[1.0, 0.0]> : tensor<2xf32>, dense<[1.0, 1.0]> : tensor<2xf32>, dense<[3.0, 0.0]> : tensor<2xf32>
// Right: dense<[[3.0, 0.0]]> : tensor<1x2xf32>
func.func @main(%x: tensor<1x2xf32>, %s: tensor<2xf32>, %o: tensor<2xf32>, %m: tensor<2xf32>, %v: tensor<2xf32>) -> tensor<1x2xf32> {
  %0 = "stablehlo.batch_norm_inference"(%x, %s, %o, %m, %v) <{epsilon = 1.0 : f32, feature_index = 1 : i64}> : (tensor<1x2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<1x2xf32>
  return %0 : tensor<1x2xf32>
}
// -----
// Report: a product with a scalar, of no contracting dimension, crashes the partitioner or is refused
// Rule: specification, "dot_general": the result has the dimensions that are left; of no contracting dimension, products.
// Input: dense<3.0> : tensor<f64>, dense<[[1.0, 2.0], [4.0, 5.0]]> : tensor<2x2xf64>
// Right: dense<[[3.0, 6.0], [12.0, 15.0]]> : tensor<2x2xf64>
func.func @main(%s: tensor<f64>, %x: tensor<2x2xf64> {mhlo.frontend_attributes = {xla.sdy.sharding = "#sdy.sharding<@mesh, [{\22x\22}, {}]>"}}) -> tensor<2x2xf64> {
  %0 = stablehlo.dot_general %s, %x, contracting_dims = [] x [] : (tensor<f64>, tensor<2x2xf64>) -> tensor<2x2xf64>
  return %0 : tensor<2x2xf64>
}
// -----
// Report: a convolution whose every feature is a group of its own mixes features
// Rule: specification, "convolution": feature_group_count groups, each convolved with its own kernel.
// Input: dense<[[[1.0, 10.0], [2.0, 20.0], [3.0, 30.0]]]> : tensor<1x3x2xf32>, dense<[[[1.0, 2.0]], [[1.0, 3.0]]]> : tensor<2x1x2xf32>
// Right: dense<[[[3.0, 80.0], [5.0, 130.0]]]> : tensor<1x2x2xf32>
func.func @main(%x: tensor<1x3x2xf32>, %k: tensor<2x1x2xf32>) -> tensor<1x2x2xf32> {
  %0 = stablehlo.convolution(%x, %k) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 2 : i64} : (tensor<1x3x2xf32>, tensor<2x1x2xf32>) -> tensor<1x2x2xf32>
  return %0 : tensor<1x2x2xf32>
}
// -----
// Report: a convolution of no batch, or without spatial dimensions, fails
// Rule: specification, "convolution": an empty result has no elements; without spatial dimensions it is a product.
// Input: dense<> : tensor<0x4x1xf32>, dense<1.0> : tensor<2x1x1xf32>, dense<[[1.0, 2.0]]> : tensor<1x2xf32>, dense<[[3.0], [4.0]]> : tensor<2x1xf32>
// Right: dense<> : tensor<0x3x1xf32>, dense<[[11.0]]> : tensor<1x1xf32>
func.func @main(%x: tensor<0x4x1xf32>, %k: tensor<2x1x1xf32>, %y: tensor<1x2xf32>, %l: tensor<2x1xf32>) -> (tensor<0x3x1xf32>, tensor<1x1xf32>) {
  %0 = stablehlo.convolution(%x, %k) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<0x4x1xf32>, tensor<2x1x1xf32>) -> tensor<0x3x1xf32>
  %1 = stablehlo.convolution(%y, %l) dim_numbers = [b, f]x[i, o]->[b, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x2xf32>, tensor<2x1xf32>) -> tensor<1x1xf32>
  return %0, %1 : tensor<0x3x1xf32>, tensor<1x1xf32>
}
// -----
// Report: a batch normalization in training of one element divides by zero
// Rule: specification, "batch_norm_training": the variance of one element is 0, so offset + 0 / sqrt(epsilon).
// Input: dense<[[3.0, -4.0]]> : tensor<1x2xf32>, dense<[2.0, 2.0]> : tensor<2xf32>, dense<[1.0, 5.0]> : tensor<2xf32>
// Right: dense<[[1.0, 5.0]]> : tensor<1x2xf32>, dense<[3.0, -4.0]> : tensor<2xf32>, dense<0.0> : tensor<2xf32>
func.func @main(%x: tensor<1x2xf32>, %s: tensor<2xf32>, %o: tensor<2xf32>) -> (tensor<1x2xf32>, tensor<2xf32>, tensor<2xf32>) {
  %0:3 = "stablehlo.batch_norm_training"(%x, %s, %o) {epsilon = 0.25 : f32, feature_index = 1 : i64} : (tensor<1x2xf32>, tensor<2xf32>, tensor<2xf32>) -> (tensor<1x2xf32>, tensor<2xf32>, tensor<2xf32>)
  return %0#0, %0#1, %0#2 : tensor<1x2xf32>, tensor<2xf32>, tensor<2xf32>
}
