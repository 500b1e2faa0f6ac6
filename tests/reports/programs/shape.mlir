// Report: negative padding of a dilated operand removes elements before the dilation
// Rule: specification, "pad": interior padding is inserted first; negative edges then remove elements.
// Input: dense<[1, 2, 3]> : tensor<3xi32>, dense<9> : tensor<i32>
// Right: dense<[9, 2, 9]> : tensor<3xi32>
func.func @main(%x: tensor<3xi32>, %p: tensor<i32>) -> tensor<3xi32> {
  %0 = stablehlo.pad %x, %p, low = [-1], high = [-1], interior = [1] : (tensor<3xi32>, tensor<i32>) -> tensor<3xi32>
  return %0 : tensor<3xi32>
}
// -----
// Report: negative padding that leaves no element fails, or allocates a negative size
// Rule: specification, "pad" (C4): the shape of the result is low + size + high, which may be 0.
// Input: dense<[1, 2, 3]> : tensor<3xi32>, dense<9> : tensor<i32>
// Right: dense<> : tensor<0xi32>
func.func @main(%x: tensor<3xi32>, %p: tensor<i32>) -> tensor<0xi32> {
  %0 = stablehlo.pad %x, %p, low = [-5], high = [2], interior = [0] : (tensor<3xi32>, tensor<i32>) -> tensor<0xi32>
  return %0 : tensor<0xi32>
}
// -----
// Report: padding that removes more than it has brings data of the next row back
// Rule: specification, "pad": what the low edge removes is gone; the high edge adds the padding value.
// Input: dense<[[1, 2], [3, 4]]> : tensor<2x2xi32>, dense<0> : tensor<i32>
// Right: dense<0> : tensor<2x1xi32>
func.func @main(%x: tensor<2x2xi32>, %p: tensor<i32>) -> tensor<2x1xi32> {
  %0 = stablehlo.pad %x, %p, low = [0, -3], high = [0, 2], interior = [0, 0] : (tensor<2x2xi32>, tensor<i32>) -> tensor<2x1xi32>
  return %0 : tensor<2x1xi32>
}
// -----
// Report: an empty operand with interior padding gets a negative size
// Rule: specification, "pad" (C4): max(size - 1, 0) gaps have interior padding.
// Input: dense<> : tensor<0xi32>, dense<7> : tensor<i32>
// Right: dense<[7, 7]> : tensor<2xi32>
func.func @main(%x: tensor<0xi32>, %p: tensor<i32>) -> tensor<2xi32> {
  %0 = stablehlo.pad %x, %p, low = [1], high = [1], interior = [3] : (tensor<0xi32>, tensor<i32>) -> tensor<2xi32>
  return %0 : tensor<2xi32>
}
// -----
// Report: iota of bf16 counts up by 1, so that it stays at 256
// Rule: specification, "iota": each element is its index, converted to the element type.
// Right: dense<[256.0, 256.0, 258.0, 260.0]> : tensor<4xbf16>
func.func @main() -> tensor<4xbf16> {
  %0 = stablehlo.iota dim = 0 : tensor<260xbf16>
  %1 = stablehlo.slice %0 [256:260] : (tensor<260xbf16>) -> tensor<4xbf16>
  return %1 : tensor<4xbf16>
}
// -----
// Report: iota of a narrow type runs beyond its range
// Rule: docs/numerics.md: indices wrap in integer types, as by a conversion ("iota").
// Right: dense<[254, 255, 0, 1]> : tensor<4xui8>
func.func @main() -> tensor<4xui8> {
  %0 = stablehlo.iota dim = 0 : tensor<258xui8>
  %1 = stablehlo.slice %0 [254:258] : (tensor<258xui8>) -> tensor<4xui8>
  return %1 : tensor<4xui8>
}
// -----
// Report: a reversal of no dimensions of a scalar fails
// Rule: specification, "reverse": dimensions may be empty; the result is the operand.
// Input: dense<3> : tensor<i32>
// Right: dense<3> : tensor<i32>
func.func @main(%x: tensor<i32>) -> tensor<i32> {
  %0 = stablehlo.reverse %x, dims = [] : tensor<i32>
  return %0 : tensor<i32>
}
// -----
// Report: a transposition of an empty tensor has the operand's shape
// Rule: specification, "transpose" (C3): dim(result, i) = dim(operand, permutation[i]).
// Input: dense<> : tensor<2x0x3xf32>
// Right: dense<> : tensor<3x2x0xf32>
func.func @main(%x: tensor<2x0x3xf32>) -> tensor<3x2x0xf32> {
  %0 = stablehlo.transpose %x, dims = [2, 0, 1] : (tensor<2x0x3xf32>) -> tensor<3x2x0xf32>
  return %0 : tensor<3x2x0xf32>
}
// -----
// Report: a reshape of a transposed value reads memory in its old order
// Rule: specification, "reshape": elements keep their lexicographic order.
// Input: dense<[[1, 2, 3], [4, 5, 6]]> : tensor<2x3xi32>
// Right: dense<[1, 4, 2, 5, 3, 6]> : tensor<6xi32>
func.func @main(%x: tensor<2x3xi32>) -> tensor<6xi32> {
  %0 = stablehlo.transpose %x, dims = [1, 0] : (tensor<2x3xi32>) -> tensor<3x2xi32>
  %1 = stablehlo.reshape %0 : (tensor<3x2xi32>) -> tensor<6xi32>
  return %1 : tensor<6xi32>
}
// -----
// Report: a broadcast of dimensions out of order is done in the operand's order
// Rule: specification, "broadcast_in_dim": dimension i of the operand goes to broadcast_dimensions[i].
// Input: dense<[[1, 2, 3], [4, 5, 6]]> : tensor<2x3xi32>
// Right: dense<[[1, 4], [2, 5], [3, 6]]> : tensor<3x2xi32>
func.func @main(%x: tensor<2x3xi32>) -> tensor<3x2xi32> {
  %0 = stablehlo.broadcast_in_dim %x, dims = [1, 0] : (tensor<2x3xi32>) -> tensor<3x2xi32>
  return %0 : tensor<3x2xi32>
}
// -----
// Report: a slice with a stride that does not divide the range has an element too few
// Rule: specification, "slice" (C5): ceil((limit - start) / stride) elements.
// Input: dense<[0, 1, 2, 3, 4, 5, 6]> : tensor<7xi32>
// Right: dense<[1, 4]> : tensor<2xi32>
func.func @main(%x: tensor<7xi32>) -> tensor<2xi32> {
  %0 = stablehlo.slice %x [1:6:3] : (tensor<7xi32>) -> tensor<2xi32>
  return %0 : tensor<2xi32>
}
// -----
// Report: concatenation with an empty operand loses what follows
// Rule: specification, "concatenate": operands follow each other; an empty one adds nothing.
// Input: dense<[1]> : tensor<1xi32>, dense<> : tensor<0xi32>, dense<[2, 3]> : tensor<2xi32>
// Right: dense<[1, 2, 3]> : tensor<3xi32>
func.func @main(%x: tensor<1xi32>, %y: tensor<0xi32>, %z: tensor<2xi32>) -> tensor<3xi32> {
  %0 = stablehlo.concatenate %x, %y, %z, dim = 0 : (tensor<1xi32>, tensor<0xi32>, tensor<2xi32>) -> tensor<3xi32>
  return %0 : tensor<3xi32>
}
// -----
// Report: a slice of run-time limits keeps the sizes of the first call
// Rule: specification has no such operation; the dialect's "real_dynamic_slice" is a slice of run-time indices.
// Input: dense<[0, 1, 2, 3, 4]> : tensor<5xi32>, dense<[1]> : tensor<1xi32>, dense<[5]> : tensor<1xi32>, dense<[2]> : tensor<1xi32>
// Right: dense<[1, 3]> : tensor<2xi32>
func.func @main(%x: tensor<5xi32>, %s: tensor<1xi32>, %l: tensor<1xi32>, %t: tensor<1xi32>) -> tensor<?xi32> {
  %0 = stablehlo.real_dynamic_slice %x, %s, %l, %t : (tensor<5xi32>, tensor<1xi32>, tensor<1xi32>, tensor<1xi32>) -> tensor<?xi32>
  return %0 : tensor<?xi32>
}
// -----
// Report: negative run-time padding fails, or reads before the operand
// Rule: specification, "dynamic_pad": semantically as "pad".
// Input: dense<[1, 2, 3]> : tensor<3xi32>, dense<0> : tensor<i32>, dense<[-1]> : tensor<1xi32>, dense<[1]> : tensor<1xi32>, dense<[1]> : tensor<1xi32>
// Right: dense<[0, 2, 0, 3, 0]> : tensor<5xi32>
func.func @main(%x: tensor<3xi32>, %p: tensor<i32>, %l: tensor<1xi32>, %h: tensor<1xi32>, %i: tensor<1xi32>) -> tensor<?xi32> {
  %0 = stablehlo.dynamic_pad %x, %p, %l, %h, %i : (tensor<3xi32>, tensor<i32>, tensor<1xi32>, tensor<1xi32>, tensor<1xi32>) -> tensor<?xi32>
  return %0 : tensor<?xi32>
}
// -----
// Report: a reduction along a dimension whose run-time size was set reads the elements beyond it
// Rule: docs/dynamism.md: set_dimension_size hides the elements behind the size ("set_dimension_size").
// Input: dense<[1, 2, 4, 8]> : tensor<4xi32>, dense<3> : tensor<i32>
// Right: dense<7> : tensor<i32>
func.func @main(%x: tensor<4xi32>, %n: tensor<i32>) -> tensor<i32> {
  %0 = stablehlo.set_dimension_size %x, %n, dim = 0 : (tensor<4xi32>, tensor<i32>) -> tensor<?xi32, #stablehlo.bounds<4>>
  %z = stablehlo.constant dense<0> : tensor<i32>
  %1 = stablehlo.reduce(%0 init: %z) applies stablehlo.add across dimensions = [0] : (tensor<?xi32, #stablehlo.bounds<4>>, tensor<i32>) -> tensor<i32>
  return %1 : tensor<i32>
}
// -----
// Report: a value of bounded size that is reshaped to another bounded shape is reduced over its whole bound
// Rule: docs/dynamism.md: set_dimension_size hides the elements behind the size; "reshape" keeps the elements.
// Input: dense<[[[1, 2], [3, 4]], [[5, 6], [7, 8]]]> : tensor<2x2x2xi32>
// Right: dense<14> : tensor<i32>
func.func @main(%x: tensor<2x2x2xi32>) -> tensor<i32> {
  %one = stablehlo.constant dense<1> : tensor<i32>
  %z = stablehlo.constant dense<0> : tensor<i32>
  %0 = stablehlo.set_dimension_size %x, %one, dim = 1 : (tensor<2x2x2xi32>, tensor<i32>) -> tensor<2x?x2xi32, #stablehlo.bounds<?, 2, ?>>
  %1 = stablehlo.reshape %0 : (tensor<2x?x2xi32, #stablehlo.bounds<?, 2, ?>>) -> tensor<?x2xi32, #stablehlo.bounds<4, ?>>
  %2 = stablehlo.reduce(%1 init: %z) applies stablehlo.add across dimensions = [0, 1] : (tensor<?x2xi32, #stablehlo.bounds<4, ?>>, tensor<i32>) -> tensor<i32>
  return %2 : tensor<i32>
}
// -----
// Report: a result of bounded size is returned with its bound, or its buffer is taken to be too small
// Rule: docs/dynamism.md: "set_dimension_size" gives a value of that size.
// Input: dense<[1, 2, 3]> : tensor<3xi32>, dense<2> : tensor<i32>
// Right: dense<[2, 4]> : tensor<2xi32>
func.func @main(%x: tensor<3xi32>, %n: tensor<i32>) -> tensor<?xi32, #stablehlo.bounds<3>> {
  %0 = stablehlo.set_dimension_size %x, %n, dim = 0 : (tensor<3xi32>, tensor<i32>) -> tensor<?xi32, #stablehlo.bounds<3>>
  %1 = stablehlo.add %0, %0 : tensor<?xi32, #stablehlo.bounds<3>>
  return %1 : tensor<?xi32, #stablehlo.bounds<3>>
}
// -----
// Report: negative interior padding is taken for a stride, or crashes
// Rule: specification, "pad" (C3): 0 <= interior_padding.
// Right: VerifyError (C3)
func.func @main(%x: tensor<3xi32>, %p: tensor<i32>) -> tensor<1xi32> {
  %0 = "stablehlo.pad"(%x, %p) {edge_padding_low = array<i64: 0>, edge_padding_high = array<i64: 0>, interior_padding = array<i64: -1>} : (tensor<3xi32>, tensor<i32>) -> tensor<1xi32>
  return %0 : tensor<1xi32>
}
// -----
// Report: a barrier that keeps values apart loses those that it passes twice, or fails on none
// Rule: specification, "optimization_barrier": the results are the operands.
// Input: dense<[1, 2]> : tensor<2xi32>
// Right: dense<[1, 2]> : tensor<2xi32>, dense<[2, 4]> : tensor<2xi32>
func.func @main(%x: tensor<2xi32>) -> (tensor<2xi32>, tensor<2xi32>) {
  %0:2 = stablehlo.optimization_barrier %x, %x : tensor<2xi32>, tensor<2xi32>
  "stablehlo.optimization_barrier"() : () -> ()
  %1 = stablehlo.add %0#0, %0#1 : tensor<2xi32>
  return %0#0, %1 : tensor<2xi32>, tensor<2xi32>
}
// -----
// Report: a reversal of a slice reads from the start of the operand instead of the slice
// Rule: specification, "reverse": elements of the operand, here the slice's, in the opposite order along dimensions.
// Input: dense<[[[1, 2], [3, 4], [5, 6], [7, 8]]]> : tensor<1x4x2xi32>
// Right: dense<[[[5, 6], [3, 4]]]> : tensor<1x2x2xi32>, dense<[[[6], [4], [2]]]> : tensor<1x3x1xi32>
func.func @main(%x: tensor<1x4x2xi32>) -> (tensor<1x2x2xi32>, tensor<1x3x1xi32>) {
  %0 = stablehlo.slice %x [0:1, 1:3, 0:2] : (tensor<1x4x2xi32>) -> tensor<1x2x2xi32>
  %1 = stablehlo.reverse %0, dims = [1] : tensor<1x2x2xi32>
  %2 = stablehlo.slice %x [0:1, 0:3, 1:2] : (tensor<1x4x2xi32>) -> tensor<1x3x1xi32>
  %3 = stablehlo.reverse %2, dims = [1, 2] : tensor<1x3x1xi32>
  return %1, %3 : tensor<1x2x2xi32>, tensor<1x3x1xi32>
}
