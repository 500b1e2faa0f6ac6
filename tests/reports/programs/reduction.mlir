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
