// Report: `select_and_scatter` whose second body returns an argument ends the process
// Rule: specification, "select_and_scatter": scatter is any function of type (tensor<E>, tensor<E>) -> tensor<E> (C10).
// Input: dense<1.0> : tensor<f32>, dense<5.0> : tensor<f32>
// Right: dense<5.0> : tensor<f32>
func.func @main(%x: tensor<f32>, %s: tensor<f32>) -> tensor<f32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = "stablehlo.select_and_scatter"(%x, %s, %zero) ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %p = stablehlo.compare GE, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  }, {
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    stablehlo.return %b : tensor<f32>
  }) : (tensor<f32>, tensor<f32>, tensor<f32>) -> tensor<f32>
  return %0 : tensor<f32>
}
// -----
// Report: padding of `reduce_window` is left out if the initial value is no identity
// Rule: specification, "reduce_window": "padded_inputs = pad(inputs..., init_values..., padding[:, 0], padding[:, 1], ...)", whose elements are reduced, here two ones and a zero.
// Input: dense<0> : tensor<1xi32>
// Right: dense<true> : tensor<1xi1>
func.func @main(%x: tensor<1xi32>) -> tensor<1xi1> {
  %one = stablehlo.constant dense<1> : tensor<i32>
  %0 = "stablehlo.reduce_window"(%x, %one) ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    %s = stablehlo.add %a, %b : tensor<i32>
    stablehlo.return %s : tensor<i32>
  }) {padding = dense<[[2, 0]]> : tensor<1x2xi64>, window_dimensions = array<i64: 3>} : (tensor<1xi32>, tensor<i32>) -> tensor<1xi32>
  %two = stablehlo.constant dense<2> : tensor<1xi32>
  %1 = stablehlo.compare GE, %0, %two : (tensor<1xi32>, tensor<1xi32>) -> tensor<1xi1>
  return %1 : tensor<1xi1>
}
// -----
// Report: the variance of close numbers loses all digits
// Rule: specification, "batch_norm_training": "centered_operand = subtract(operand, mean_bcast)", whose squares are averaged.
// Input: dense<[[1.0], [0x3F800001], [1.0], [0x3F800001]]> : tensor<4x1xf32>
// Right: dense<true> : tensor<1xi1>
func.func @main(%x: tensor<4x1xf32>) -> tensor<1xi1> {
  %one = stablehlo.constant dense<1.0> : tensor<1xf32>
  %0:3 = "stablehlo.batch_norm_training"(%x, %one, %one) {epsilon = 0.001 : f32, feature_index = 1 : i64} : (tensor<4x1xf32>, tensor<1xf32>, tensor<1xf32>) -> (tensor<4x1xf32>, tensor<1xf32>, tensor<1xf32>)
  %limit = stablehlo.constant dense<1.0e-13> : tensor<1xf32>
  %1 = stablehlo.compare LE, %0#2, %limit : (tensor<1xf32>, tensor<1xf32>) -> tensor<1xi1>
  return %1 : tensor<1xi1>
}
// -----
// Report: a maximum among processes loses NaN, although there is one process
// Rule: specification, "reduce_scatter": "reduced_value = all_reduce(...)", and "maximum" from IEEE-754 keeps NaN.
// Input: dense<[0x7FC00000, 1.0]> : tensor<2xf32>
// Right: dense<[0x7FC00000, 1.0]> : tensor<2xf32>
func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = "stablehlo.reduce_scatter"(%x) ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %m = stablehlo.maximum %a, %b : tensor<f32>
    stablehlo.return %m : tensor<f32>
  }) {scatter_dimension = 0 : i64, replica_groups = dense<0> : tensor<1x1xi64>} : (tensor<2xf32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}
// -----
// Report: `triangular_solve` of batches ends the process
// Rule: specification, "triangular_solve": "Solves batches of systems of linear equations".
// Input: dense<[[[2.0]], [[4.0]]]> : tensor<2x1x1xf32>, dense<[[[6.0]], [[8.0]]]> : tensor<2x1x1xf32>
// Right: dense<[[[3.0]], [[2.0]]]> : tensor<2x1x1xf32>
func.func @main(%a: tensor<2x1x1xf32>, %b: tensor<2x1x1xf32>) -> tensor<2x1x1xf32> {
  %0 = "stablehlo.triangular_solve"(%a, %b) {left_side = true, lower = true, unit_diagonal = false, transpose_a = #stablehlo<transpose NO_TRANSPOSE>} : (tensor<2x1x1xf32>, tensor<2x1x1xf32>) -> tensor<2x1x1xf32>
  return %0 : tensor<2x1x1xf32>
}
// -----
// Report: `rng` of integers of 16 bits ends the process
// Rule: specification, "rng": "following the uniform distribution over the interval [a, b)", here of one integer.
// Input: dense<5> : tensor<i16>, dense<6> : tensor<i16>
// Right: dense<5> : tensor<3xi16>
func.func @main(%a: tensor<i16>, %b: tensor<i16>) -> tensor<3xi16> {
  %shape = stablehlo.constant dense<3> : tensor<1xi64>
  %0 = stablehlo.rng %a, %b, %shape, distribution = UNIFORM : (tensor<i16>, tensor<i16>, tensor<1xi64>) -> tensor<3xi16>
  return %0 : tensor<3xi16>
}
// -----
// Report: a reduction that promotes returns the type of the operand
// Rule: specification, "reduce", constraint C8: element_type(results...) is the type that body returns; "input_slices_converted = to_destination_type(input_slices..., ...)".
// Input: dense<[100]> : tensor<1xi8>
// Right: dense<[100]> : tensor<1xi32>
func.func @main(%x: tensor<1xi8>) -> tensor<1xi32> {
  %zero = stablehlo.constant dense<0> : tensor<i8>
  %0 = "stablehlo.reduce"(%x, %zero) ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    %s = stablehlo.add %a, %b : tensor<i32>
    stablehlo.return %s : tensor<i32>
  }) {dimensions = array<i64>} : (tensor<1xi8>, tensor<i8>) -> tensor<1xi32>
  return %0 : tensor<1xi32>
}
// -----
// Report: negative padding of `reduce_window` ends the process
// Rule: specification, "reduce_window": "padded_inputs = pad(inputs..., init_values..., padding[:, 0], padding[:, 1], ...)", where padding may be negative.
// Input: dense<[1, 2, 3]> : tensor<3xi32>
// Right: dense<[1, 2]> : tensor<2xi32>
func.func @main(%x: tensor<3xi32>) -> tensor<2xi32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %0 = "stablehlo.reduce_window"(%x, %zero) ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    %s = stablehlo.add %b, %a : tensor<i32>
    stablehlo.return %s : tensor<i32>
  }) {padding = dense<[[0, -1]]> : tensor<1x2xi64>, window_dimensions = array<i64: 1>} : (tensor<3xi32>, tensor<i32>) -> tensor<2xi32>
  return %0 : tensor<2xi32>
}
// -----
// Report: negative padding of `select_and_scatter` that leaves nothing ends the process
// Rule: specification, "select_and_scatter": window_dimensions, window_strides and padding "are used as is" by reduce_window, here of no windows.
// Input: dense<[1, 2]> : tensor<2xi32>, dense<> : tensor<0xi32>
// Right: dense<0> : tensor<2xi32>
func.func @main(%x: tensor<2xi32>, %s: tensor<0xi32>) -> tensor<2xi32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %0 = "stablehlo.select_and_scatter"(%x, %s, %zero) ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    %p = stablehlo.compare GE, %a, %b : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  }, {
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    %t = stablehlo.add %a, %b : tensor<i32>
    stablehlo.return %t : tensor<i32>
  }) {padding = dense<[[-2, -1]]> : tensor<1x2xi64>, window_dimensions = array<i64: 1>} : (tensor<2xi32>, tensor<0xi32>, tensor<i32>) -> tensor<2xi32>
  return %0 : tensor<2xi32>
}
// -----
// Report: a reduction whose body returns a captured value has the shape of that value
// Rule: specification, "reduce", constraint C7: shape(results...) is shape(inputs...) without dimensions.
// Input: dense<0.0> : tensor<2x1xf32>, dense<5.0> : tensor<f32>
// Right: dense<5.0> : tensor<2xf32>
func.func @main(%x: tensor<2x1xf32>, %c: tensor<f32>) -> tensor<2xf32> {
  %0 = "stablehlo.reduce"(%x, %c) ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    stablehlo.return %c : tensor<f32>
  }) {dimensions = array<i64: 1>} : (tensor<2x1xf32>, tensor<f32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}
// -----
// Report: `select_and_scatter` compares the elements of padded windows in another order
// Rule: specification, "reduce": "exec(schedule)" where the schedule's "in-order traversal" is the order of indices; of equal elements this select takes the last one, here [1, 0] for the source 6.
// Input: dense<[[1, 2], [2, 1]]> : tensor<2x2xi32>, dense<[[3, 5], [6, 2]]> : tensor<2x2xi32>
// Right: dense<[[0, 7], [6, 0]]> : tensor<2x2xi32>
func.func @main(%x: tensor<2x2xi32>, %s: tensor<2x2xi32>) -> tensor<2x2xi32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %0 = "stablehlo.select_and_scatter"(%x, %s, %zero) ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    %p = stablehlo.compare GT, %a, %b : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  }, {
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    %t = stablehlo.or %a, %b : tensor<i32>
    stablehlo.return %t : tensor<i32>
  }) {padding = dense<[[1, 0], [0, 1]]> : tensor<2x2xi64>, window_dimensions = array<i64: 2, 2>} : (tensor<2x2xi32>, tensor<2x2xi32>, tensor<i32>) -> tensor<2x2xi32>
  return %0 : tensor<2x2xi32>
}
// -----
// Report: `batch_norm_inference` of an infinite scale is NaN
// Rule: specification, "batch_norm_inference": "centered_operand = subtract(operand, mean_bcast)", which is scaled; here -2 times infinity.
// Input: dense<[[1.0]]> : tensor<1x1xf32>, dense<0x7F800000> : tensor<1xf32>, dense<3.0> : tensor<1xf32>
// Right: dense<0xFF800000> : tensor<1x1xf32>
func.func @main(%x: tensor<1x1xf32>, %scale: tensor<1xf32>, %mean: tensor<1xf32>) -> tensor<1x1xf32> {
  %one = stablehlo.constant dense<1.0> : tensor<1xf32>
  %0 = "stablehlo.batch_norm_inference"(%x, %scale, %one, %mean, %one) {epsilon = 0.0 : f32, feature_index = 1 : i64} : (tensor<1x1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<1x1xf32>
  return %0 : tensor<1x1xf32>
}
