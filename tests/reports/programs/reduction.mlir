// Report: a window over an empty operand with padding counts no window
// Rule: specification, "reduce_window": the padded operand is reduced; padding holds the init value.
// Input: dense<> : tensor<0xi32>, dense<5> : tensor<i32>
// Right: dense<[15]> : tensor<1xi32>
func.func @main(%x: tensor<0xi32>, %z: tensor<i32>) -> tensor<1xi32> {
  %0 = "stablehlo.reduce_window"(%x, %z) <{window_dimensions = array<i64: 2>, padding = dense<1> : tensor<1x2xi64>}> ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    %s = stablehlo.add %a, %b : tensor<i32>
    stablehlo.return %s : tensor<i32>
  }) : (tensor<0xi32>, tensor<i32>) -> tensor<1xi32>
  return %0 : tensor<1xi32>
}
// -----
// Report: a window larger than its operand gives a negative size
// Rule: specification, "reduce_window" (C15): no window fits, so the size is 0.
// Input: dense<[1, 2]> : tensor<2xi32>, dense<0> : tensor<i32>
// Right: dense<> : tensor<0xi32>
func.func @main(%x: tensor<2xi32>, %z: tensor<i32>) -> tensor<0xi32> {
  %0 = "stablehlo.reduce_window"(%x, %z) <{window_dimensions = array<i64: 5>}> ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    %s = stablehlo.add %a, %b : tensor<i32>
    stablehlo.return %s : tensor<i32>
  }) : (tensor<2xi32>, tensor<i32>) -> tensor<0xi32>
  return %0 : tensor<0xi32>
}
// -----
// Report: a dilated window over a dilated operand takes the wrong elements
// Rule: specification, "reduce_window": the operand is dilated by base_dilations, the window by window_dilations.
// Input: dense<[1, 2, 3, 4]> : tensor<4xi32>, dense<0> : tensor<i32>
// Right: dense<[3, 0, 5, 0, 7]> : tensor<5xi32>
func.func @main(%x: tensor<4xi32>, %z: tensor<i32>) -> tensor<5xi32> {
  %0 = "stablehlo.reduce_window"(%x, %z) <{window_dimensions = array<i64: 2>, base_dilations = array<i64: 2>, window_dilations = array<i64: 2>}> ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    %s = stablehlo.add %a, %b : tensor<i32>
    stablehlo.return %s : tensor<i32>
  }) : (tensor<4xi32>, tensor<i32>) -> tensor<5xi32>
  return %0 : tensor<5xi32>
}
// -----
// Report: a maximum over windows with negative padding reads the removed elements
// Rule: specification, "reduce_window": negative padding removes elements, as in "pad".
// Input: dense<[9, 1, 2, 8]> : tensor<4xi32>, dense<-100> : tensor<i32>
// Right: dense<[2]> : tensor<1xi32>
func.func @main(%x: tensor<4xi32>, %z: tensor<i32>) -> tensor<1xi32> {
  %0 = "stablehlo.reduce_window"(%x, %z) <{window_dimensions = array<i64: 2>, padding = dense<-1> : tensor<1x2xi64>}> ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    %s = stablehlo.maximum %a, %b : tensor<i32>
    stablehlo.return %s : tensor<i32>
  }) : (tensor<4xi32>, tensor<i32>) -> tensor<1xi32>
  return %0 : tensor<1xi32>
}
// -----
// Report: a reduction of an empty dimension leaves its result uninitialized
// Rule: specification, "reduce": the result of no elements is the init value.
// Input: dense<> : tensor<2x0xf32>, dense<-1.5> : tensor<f32>
// Right: dense<-1.5> : tensor<2xf32>
func.func @main(%x: tensor<2x0xf32>, %z: tensor<f32>) -> tensor<2xf32> {
  %0 = stablehlo.reduce(%x init: %z) applies stablehlo.add across dimensions = [1] : (tensor<2x0xf32>, tensor<f32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}
// -----
// Report: the largest of a row with NaN is a number
// Rule: specification, "reduce" with "maximum": a NaN propagates.
// Input: dense<[[1.0, 0x7FC00000, 2.0], [0xFF800000, 0xFF800000, 0xFF800000]]> : tensor<2x3xf32>
// Right: dense<[0x7FC00000, 0xFF800000]> : tensor<2xf32>
func.func @main(%x: tensor<2x3xf32>) -> tensor<2xf32> {
  %z = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %0 = stablehlo.reduce(%x init: %z) applies stablehlo.maximum across dimensions = [1] : (tensor<2x3xf32>, tensor<f32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}
// -----
// Report: a sum of bf16 is accumulated in f32, so that it differs from the program's own additions
// Rule: specification, "reduce": the body's element type is bf16, in which 256 + 1 is 256.
// Input: dense<[256.0, 1.0]> : tensor<2xbf16>
// Right: dense<256.0> : tensor<bf16>
func.func @main(%x: tensor<2xbf16>) -> tensor<bf16> {
  %z = stablehlo.constant dense<0.0> : tensor<bf16>
  %0 = stablehlo.reduce(%x init: %z) applies stablehlo.add across dimensions = [0] : (tensor<2xbf16>, tensor<bf16>) -> tensor<bf16>
  return %0 : tensor<bf16>
}
// -----
// Report: a sum of booleans is a logical and, or counts beyond 1
// Rule: specification, "add": logical OR for booleans.
// Input: dense<[true, true, false]> : tensor<3xi1>
// Right: dense<true> : tensor<i1>
func.func @main(%x: tensor<3xi1>) -> tensor<i1> {
  %z = stablehlo.constant dense<false> : tensor<i1>
  %0 = stablehlo.reduce(%x init: %z) applies stablehlo.add across dimensions = [0] : (tensor<3xi1>, tensor<i1>) -> tensor<i1>
  return %0 : tensor<i1>
}
// -----
// Report: ties within a window scatter to the last element instead of the first
// Rule: specification, "select_and_scatter": select decides; GE keeps the first of equal elements.
// Input: dense<[3, 3, 1, 2]> : tensor<4xi32>, dense<[10, 20]> : tensor<2xi32>, dense<0> : tensor<i32>
// Right: dense<[10, 0, 0, 20]> : tensor<4xi32>
func.func @main(%x: tensor<4xi32>, %s: tensor<2xi32>, %z: tensor<i32>) -> tensor<4xi32> {
  %0 = "stablehlo.select_and_scatter"(%x, %s, %z) <{window_dimensions = array<i64: 2>, window_strides = array<i64: 2>}> ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    %c = stablehlo.compare GE, %a, %b : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  }, {
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    %c = stablehlo.add %a, %b : tensor<i32>
    stablehlo.return %c : tensor<i32>
  }) : (tensor<4xi32>, tensor<2xi32>, tensor<i32>) -> tensor<4xi32>
  return %0 : tensor<4xi32>
}
// -----
// Report: a sort that is stable exchanges equal keys, among them 0 and -0
// Rule: specification, "sort": is_stable keeps the order of elements that the comparator does not distinguish.
// Input: dense<[0.0, -0.0, -1.0, 0.0]> : tensor<4xf32>, dense<[0, 1, 2, 3]> : tensor<4xi32>
// Right: dense<[-1.0, 0.0, -0.0, 0.0]> : tensor<4xf32>, dense<[2, 0, 1, 3]> : tensor<4xi32>
func.func @main(%x: tensor<4xf32>, %i: tensor<4xi32>) -> (tensor<4xf32>, tensor<4xi32>) {
  %0:2 = "stablehlo.sort"(%x, %i) <{dimension = 0 : i64, is_stable = true}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>, %c: tensor<i32>, %d: tensor<i32>):
    %p = stablehlo.compare LT, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  }) : (tensor<4xf32>, tensor<4xi32>) -> (tensor<4xf32>, tensor<4xi32>)
  return %0#0, %0#1 : tensor<4xf32>, tensor<4xi32>
}
// -----
// Report: a sort in total order puts NaN of both signs at the end
// Rule: specification, "sort" and "compare": totalOrder has -NaN first and NaN last.
// Input: dense<[1.0, 0x7FC00000, 0.0, -0.0, 0xFFC00000]> : tensor<5xf32>, dense<[0, 1, 2, 3, 4]> : tensor<5xi32>
// Right: dense<[4, 3, 2, 0, 1]> : tensor<5xi32>
func.func @main(%x: tensor<5xf32>, %i: tensor<5xi32>) -> tensor<5xi32> {
  %0:2 = "stablehlo.sort"(%x, %i) <{dimension = 0 : i64, is_stable = true}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>, %c: tensor<i32>, %d: tensor<i32>):
    %p = stablehlo.compare LT, %a, %b, TOTALORDER : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  }) : (tensor<5xf32>, tensor<5xi32>) -> (tensor<5xf32>, tensor<5xi32>)
  return %0#1 : tensor<5xi32>
}
// -----
// Report: the greatest elements leave NaN out, or ties come in another order
// Rule: docs/numerics.md: chlo "top_k" orders by totalOrder, so that NaN is the greatest; ties keep their order.
// Input: dense<[1.0, 0x7FC00000, 3.0, 3.0, 0xFF800000]> : tensor<5xf32>
// Right: dense<[0x7FC00000, 3.0, 3.0]> : tensor<3xf32>, dense<[1, 2, 3]> : tensor<3xi32>
func.func @main(%x: tensor<5xf32>) -> (tensor<3xf32>, tensor<3xi32>) {
  %0, %1 = chlo.top_k(%x, k = 3) : tensor<5xf32> -> (tensor<3xf32>, tensor<3xi32>)
  return %0, %1 : tensor<3xf32>, tensor<3xi32>
}
// -----
// Report: the greatest of unsigned elements are found by signed comparison
// Rule: docs/operations.md: chlo "top_k" orders unsigned integers as such.
// Input: dense<[1, 255, 127, 128]> : tensor<4xui8>
// Right: dense<[255, 128]> : tensor<2xui8>, dense<[1, 3]> : tensor<2xi32>
func.func @main(%x: tensor<4xui8>) -> (tensor<2xui8>, tensor<2xi32>) {
  %0, %1 = chlo.top_k(%x, k = 2) : tensor<4xui8> -> (tensor<2xui8>, tensor<2xi32>)
  return %0, %1 : tensor<2xui8>, tensor<2xi32>
}
// -----
// Report: a reduction over windows of a scalar crashes the compiler
// Rule: specification, "reduce_window": rank 0 has one window, of the element alone.
// Input: dense<7> : tensor<i32>, dense<5> : tensor<i32>
// Right: dense<12> : tensor<i32>
func.func @main(%x: tensor<i32>, %i: tensor<i32>) -> tensor<i32> {
  %0 = "stablehlo.reduce_window"(%x, %i) ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    %s = stablehlo.add %a, %b : tensor<i32>
    stablehlo.return %s : tensor<i32>
  }) {window_dimensions = array<i64>, window_strides = array<i64>, base_dilations = array<i64>, window_dilations = array<i64>, padding = dense<> : tensor<0x2xi64>} : (tensor<i32>, tensor<i32>) -> tensor<i32>
  return %0 : tensor<i32>
}
// -----
// Report: a reduction over windows of two operands, with two operations and dilation, has no lowering
// Rule: specification, "reduce_window": the body reduces the windows of all inputs together; holes are init values.
// Input: dense<[1, 2, 3]> : tensor<3xi32>, dense<[7, -8, 9]> : tensor<3xi32>
// Right: dense<[1, 0, 3, 0, 5]> : tensor<5xi32>, dense<[7, -2147483648, 7, -2147483648, 9]> : tensor<5xi32>
func.func @main(%x: tensor<3xi32>, %y: tensor<3xi32>) -> (tensor<5xi32>, tensor<5xi32>) {
  %z = stablehlo.constant dense<0> : tensor<i32>
  %m = stablehlo.constant dense<-2147483648> : tensor<i32>
  %0:2 = "stablehlo.reduce_window"(%x, %y, %z, %m) ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>, %c: tensor<i32>, %d: tensor<i32>):
    %s = stablehlo.add %a, %c : tensor<i32>
    %t = stablehlo.maximum %b, %d : tensor<i32>
    stablehlo.return %s, %t : tensor<i32>, tensor<i32>
  }) {window_dimensions = array<i64: 2>, window_strides = array<i64: 1>, base_dilations = array<i64: 2>, window_dilations = array<i64: 2>, padding = dense<[[2, 0]]> : tensor<1x2xi64>} : (tensor<3xi32>, tensor<3xi32>, tensor<i32>, tensor<i32>) -> (tensor<5xi32>, tensor<5xi32>)
  return %0#0, %0#1 : tensor<5xi32>, tensor<5xi32>
}
// -----
// Report: a sort along a dimension of one element or none, of booleans too, has no lowering
// Rule: specification, "sort": slices along the dimension; those of one element or none are as they were.
// Input: dense<[[3], [1], [2]]> : tensor<3x1xi32>, dense<> : tensor<0x2xi32>, dense<[true, false, true]> : tensor<3xi1>
// Right: dense<[[3], [1], [2]]> : tensor<3x1xi32>, dense<> : tensor<0x2xi32>, dense<[false, true, true]> : tensor<3xi1>, dense<[1, 0, 2]> : tensor<3xi32>
func.func @main(%x: tensor<3x1xi32>, %y: tensor<0x2xi32>, %z: tensor<3xi1>) -> (tensor<3x1xi32>, tensor<0x2xi32>, tensor<3xi1>, tensor<3xi32>) {
  %0 = "stablehlo.sort"(%x) ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    %p = stablehlo.compare LT, %a, %b, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  }) {dimension = 1 : i64, is_stable = true} : (tensor<3x1xi32>) -> tensor<3x1xi32>
  %1 = "stablehlo.sort"(%y) ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    %p = stablehlo.compare LT, %a, %b, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  }) {dimension = 0 : i64} : (tensor<0x2xi32>) -> tensor<0x2xi32>
  %i = stablehlo.iota dim = 0 : tensor<3xi32>
  %2:2 = "stablehlo.sort"(%z, %i) ({
  ^bb0(%a: tensor<i1>, %b: tensor<i1>, %c: tensor<i32>, %d: tensor<i32>):
    %p = stablehlo.compare LT, %a, %b, UNSIGNED : (tensor<i1>, tensor<i1>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  }) {is_stable = true} : (tensor<3xi1>, tensor<3xi32>) -> (tensor<3xi1>, tensor<3xi32>)
  return %0, %1, %2#0, %2#1 : tensor<3x1xi32>, tensor<0x2xi32>, tensor<3xi1>, tensor<3xi32>
}
// -----
// Report: a descending sort negates its keys, so that the least integer comes first
// Rule: specification, "sort" and "compare": GT of signed integers.
// Input: dense<[-128, 100, -127, 127]> : tensor<4xi8>
// Right: dense<[127, 100, -127, -128]> : tensor<4xi8>, dense<[3, 1, 2, 0]> : tensor<4xi32>
func.func @main(%x: tensor<4xi8>) -> (tensor<4xi8>, tensor<4xi32>) {
  %i = stablehlo.iota dim = 0 : tensor<4xi32>
  %0:2 = "stablehlo.sort"(%x, %i) ({
  ^bb0(%a: tensor<i8>, %b: tensor<i8>, %c: tensor<i32>, %d: tensor<i32>):
    %p = stablehlo.compare GT, %a, %b : (tensor<i8>, tensor<i8>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  }) {is_stable = true} : (tensor<4xi8>, tensor<4xi32>) -> (tensor<4xi8>, tensor<4xi32>)
  return %0#0, %0#1 : tensor<4xi8>, tensor<4xi32>
}
// -----
// Report: all of no booleans is false, or any of none is true
// Rule: specification, "reduce": the result of no elements is the init value.
// Input: dense<> : tensor<2x0xi1>
// Right: dense<true> : tensor<2xi1>, dense<false> : tensor<2xi1>, dense<false> : tensor<2xi1>
func.func @main(%x: tensor<2x0xi1>) -> (tensor<2xi1>, tensor<2xi1>, tensor<2xi1>) {
  %t = stablehlo.constant dense<true> : tensor<i1>
  %f = stablehlo.constant dense<false> : tensor<i1>
  %0 = stablehlo.reduce(%x init: %t) applies stablehlo.and across dimensions = [1] : (tensor<2x0xi1>, tensor<i1>) -> tensor<2xi1>
  %1 = stablehlo.reduce(%x init: %f) applies stablehlo.or across dimensions = [1] : (tensor<2x0xi1>, tensor<i1>) -> tensor<2xi1>
  %2 = stablehlo.reduce(%x init: %f) applies stablehlo.xor across dimensions = [1] : (tensor<2x0xi1>, tensor<i1>) -> tensor<2xi1>
  return %0, %1, %2 : tensor<2xi1>, tensor<2xi1>, tensor<2xi1>
}
// -----
// Report: the index of the greatest element, with comparisons of no stated type, is that of a number beside NaN
// Rule: specification, "reduce" and "compare": NaN is not equal to itself, so the body keeps it and its first index.
// Input: dense<[[1.0, 5.0, 5.0], [2.0, 0x7FC00000, 9.0]]> : tensor<2x3xf32>
// Right: dense<[5.0, 0x7FC00000]> : tensor<2xf32>, dense<[1, 1]> : tensor<2xi64>
func.func @main(%x: tensor<2x3xf32>) -> (tensor<2xf32>, tensor<2xi64>) {
  %m = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %z = stablehlo.constant dense<0> : tensor<i64>
  %i = stablehlo.iota dim = 1 : tensor<2x3xi64>
  %0:2 = stablehlo.reduce(%x init: %m), (%i init: %z) across dimensions = [1] : (tensor<2x3xf32>, tensor<2x3xi64>, tensor<f32>, tensor<i64>) -> (tensor<2xf32>, tensor<2xi64>)
   reducer(%a: tensor<f32>, %c: tensor<f32>) (%b: tensor<i64>, %d: tensor<i64>)  {
    %1 = stablehlo.compare  GT, %a, %c,  NOTYPE : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %2 = stablehlo.compare  NE, %a, %a,  NOTYPE : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %3 = stablehlo.or %1, %2 : tensor<i1>
    %4 = stablehlo.compare  EQ, %a, %c,  NOTYPE : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %5 = stablehlo.compare  LT, %b, %d,  NOTYPE : (tensor<i64>, tensor<i64>) -> tensor<i1>
    %6 = stablehlo.and %4, %5 : tensor<i1>
    %7 = stablehlo.or %3, %6 : tensor<i1>
    %8 = stablehlo.select %3, %a, %c : tensor<i1>, tensor<f32>
    %9 = stablehlo.select %7, %b, %d : tensor<i1>, tensor<i64>
    stablehlo.return %8, %9 : tensor<f32>, tensor<i64>
  }
  return %0#0, %0#1 : tensor<2xf32>, tensor<2xi64>
}
// -----
// Report: a running sum of 64-bit integers by padded windows has no lowering, or is taken in 32 bits
// Rule: specification, "reduce_window": window i holds the elements up to i behind padding, which is the init value.
// Input: dense<[[4294967296], [1], [4294967296]]> : tensor<3x1xi64>
// Right: dense<[[4294967296], [4294967297], [8589934593]]> : tensor<3x1xi64>
func.func @main(%x: tensor<3x1xi64>) -> tensor<3x1xi64> {
  %z = stablehlo.constant dense<0> : tensor<i64>
  %0 = "stablehlo.reduce_window"(%x, %z) ({
  ^bb0(%a: tensor<i64>, %b: tensor<i64>):
    %s = stablehlo.add %a, %b : tensor<i64>
    stablehlo.return %s : tensor<i64>
  }) {window_dimensions = array<i64: 3, 1>, padding = dense<[[2, 0], [0, 0]]> : tensor<2x2xi64>} : (tensor<3x1xi64>, tensor<i64>) -> tensor<3x1xi64>
  return %0 : tensor<3x1xi64>
}
// -----
// Report: windows without padding whose selection runs over the edge scatter to the next row
// Rule: specification, "select_and_scatter": the selected element of each window receives its source.
// Input: dense<[[1.0, 4.0, 2.0], [3.0, 0.0, 5.0]]> : tensor<2x3xf32>, dense<[[10.0, 20.0]]> : tensor<1x2xf32>
// Right: dense<[[0.0, 10.0, 0.0], [0.0, 0.0, 20.0]]> : tensor<2x3xf32>
func.func @main(%x: tensor<2x3xf32>, %y: tensor<1x2xf32>) -> tensor<2x3xf32> {
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = "stablehlo.select_and_scatter"(%x, %y, %z) <{window_dimensions = array<i64: 2, 2>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %p = stablehlo.compare GE, %a, %b, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  }, {
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<2x3xf32>, tensor<1x2xf32>, tensor<f32>) -> tensor<2x3xf32>
  return %0 : tensor<2x3xf32>
}
// -----
// Report: a running sum of booleans counts in integers and converts at the end, so that it returns to false
// Rule: specification, "reduce_window" and "add": addition of booleans is logical OR, at every window.
// Input: dense<[false, true, true, false]> : tensor<4xi1>
// Right: dense<[false, true, true, true]> : tensor<4xi1>
func.func @main(%x: tensor<4xi1>) -> tensor<4xi1> {
  %f = stablehlo.constant dense<false> : tensor<i1>
  %0 = "stablehlo.reduce_window"(%x, %f) ({
  ^bb0(%a: tensor<i1>, %b: tensor<i1>):
    %s = stablehlo.add %a, %b : tensor<i1>
    stablehlo.return %s : tensor<i1>
  }) {window_dimensions = array<i64: 4>, padding = dense<[[3, 0]]> : tensor<1x2xi64>} : (tensor<4xi1>, tensor<i1>) -> tensor<4xi1>
  return %0 : tensor<4xi1>
}
