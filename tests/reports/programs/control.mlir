// Report: an index of a case that is out of range takes the first branch, or fails
// Rule: specification, "case": out of range, the last branch.
// Input: dense<-1> : tensor<i32>, dense<7> : tensor<i32>
// Right: dense<20> : tensor<i32>, dense<20> : tensor<i32>
func.func @main(%i: tensor<i32>, %j: tensor<i32>) -> (tensor<i32>, tensor<i32>) {
  %a = stablehlo.constant dense<10> : tensor<i32>
  %b = stablehlo.constant dense<20> : tensor<i32>
  %0 = "stablehlo.case"(%i) ({
    stablehlo.return %a : tensor<i32>
  }, {
    stablehlo.return %b : tensor<i32>
  }) : (tensor<i32>) -> tensor<i32>
  %1 = "stablehlo.case"(%j) ({
    stablehlo.return %a : tensor<i32>
  }, {
    stablehlo.return %b : tensor<i32>
  }) : (tensor<i32>) -> tensor<i32>
  return %0, %1 : tensor<i32>, tensor<i32>
}
// -----
// Report: a loop reads values from outside of its regions as they were in the first call
// Rule: specification, "while": regions may use values of the enclosing scope.
// Input: dense<3> : tensor<i32>, dense<5> : tensor<i32>
// Right: dense<15> : tensor<i32>
func.func @main(%n: tensor<i32>, %step: tensor<i32>) -> tensor<i32> {
  %z = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %0:2 = stablehlo.while(%i = %z, %s = %z) : tensor<i32>, tensor<i32>
  cond {
    %c = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  } do {
    %j = stablehlo.add %i, %one : tensor<i32>
    %t = stablehlo.add %s, %step : tensor<i32>
    stablehlo.return %j, %t : tensor<i32>, tensor<i32>
  }
  return %0#1 : tensor<i32>
}
// -----
// Report: a loop that exchanges its values has one of them twice
// Rule: specification, "while": all values of an iteration are those that the body returned together.
// Input: dense<[1, 2]> : tensor<2xi32>, dense<[3, 4]> : tensor<2xi32>
// Right: dense<[3, 4]> : tensor<2xi32>, dense<[1, 2]> : tensor<2xi32>
func.func @main(%x: tensor<2xi32>, %y: tensor<2xi32>) -> (tensor<2xi32>, tensor<2xi32>) {
  %z = stablehlo.constant dense<0> : tensor<i32>
  %n = stablehlo.constant dense<3> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %0:3 = stablehlo.while(%i = %z, %a = %x, %b = %y) : tensor<i32>, tensor<2xi32>, tensor<2xi32>
  cond {
    %c = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  } do {
    %j = stablehlo.add %i, %one : tensor<i32>
    stablehlo.return %j, %b, %a : tensor<i32>, tensor<2xi32>, tensor<2xi32>
  }
  return %0#1, %0#2 : tensor<2xi32>, tensor<2xi32>
}
// -----
// Report: a loop whose condition is false at first runs once
// Rule: specification, "while": cond is evaluated before each iteration.
// Input: dense<9> : tensor<i32>
// Right: dense<9> : tensor<i32>
func.func @main(%x: tensor<i32>) -> tensor<i32> {
  %0 = stablehlo.while(%i = %x) : tensor<i32>
  cond {
    %c = stablehlo.constant dense<false> : tensor<i1>
    stablehlo.return %c : tensor<i1>
  } do {
    %j = stablehlo.negate %i : tensor<i32>
    stablehlo.return %j : tensor<i32>
  }
  return %0 : tensor<i32>
}
// -----
// Report: an index that the loop narrows wraps and the loop never ends, or its trip count is wrong
// Rule: specification, "add": i8 wraps, so 126, 127, -128 are three iterations until the index is negative.
// Input: dense<125> : tensor<i8>
// Right: dense<-128> : tensor<i8>, dense<3> : tensor<i32>
func.func @main(%x: tensor<i8>) -> (tensor<i8>, tensor<i32>) {
  %z = stablehlo.constant dense<0> : tensor<i32>
  %zero = stablehlo.constant dense<0> : tensor<i8>
  %one = stablehlo.constant dense<1> : tensor<i8>
  %1 = stablehlo.constant dense<1> : tensor<i32>
  %0:2 = stablehlo.while(%i = %x, %n = %z) : tensor<i8>, tensor<i32>
  cond {
    %c = stablehlo.compare GE, %i, %zero : (tensor<i8>, tensor<i8>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  } do {
    %j = stablehlo.add %i, %one : tensor<i8>
    %m = stablehlo.add %n, %1 : tensor<i32>
    stablehlo.return %j, %m : tensor<i8>, tensor<i32>
  }
  return %0#0, %0#1 : tensor<i8>, tensor<i32>
}
// -----
// Report: a bounded size that is set in a loop keeps the size of the first iteration
// Rule: docs/dynamism.md: "set_dimension_size" gives a value of that size; "get_dimension_size" reads it.
// Input: dense<[1, 2, 4, 8]> : tensor<4xi32>
// Right: dense<11> : tensor<i32>
func.func @main(%x: tensor<4xi32>) -> tensor<i32> {
  %z = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %n = stablehlo.constant dense<4> : tensor<i32>
  %0:2 = stablehlo.while(%i = %one, %s = %z) : tensor<i32>, tensor<i32>
  cond {
    %c = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  } do {
    %d = stablehlo.set_dimension_size %x, %i, dim = 0 : (tensor<4xi32>, tensor<i32>) -> tensor<?xi32, #stablehlo.bounds<4>>
    %r = stablehlo.reduce(%d init: %z) applies stablehlo.add across dimensions = [0] : (tensor<?xi32, #stablehlo.bounds<4>>, tensor<i32>) -> tensor<i32>
    %t = stablehlo.add %s, %r : tensor<i32>
    %j = stablehlo.add %i, %one : tensor<i32>
    stablehlo.return %j, %t : tensor<i32>, tensor<i32>
  }
  return %0#1 : tensor<i32>
}
// -----
// Report: an update in place of a carried array is seen by a read that comes before it
// Rule: specification, "dynamic_update_slice": the result is a new value; the operand keeps its elements.
// Input: dense<[1, 2, 3]> : tensor<3xi32>
// Right: dense<[2, 2, 3]> : tensor<3xi32>, dense<[1, 2, 3]> : tensor<3xi32>
func.func @main(%x: tensor<3xi32>) -> (tensor<3xi32>, tensor<3xi32>) {
  %i = stablehlo.constant dense<0> : tensor<i32>
  %u = stablehlo.slice %x [1:2] : (tensor<3xi32>) -> tensor<1xi32>
  %0 = stablehlo.dynamic_update_slice %x, %u, %i : (tensor<3xi32>, tensor<1xi32>, tensor<i32>) -> tensor<3xi32>
  return %0, %x : tensor<3xi32>, tensor<3xi32>
}
// -----
// Report: a loop of no operands is refused, or never evaluated
// Rule: specification, "while": operand is a variadic number of values, which may be none.
// Input: dense<4> : tensor<i32>
// Right: dense<4> : tensor<i32>
func.func @main(%x: tensor<i32>) -> tensor<i32> {
  "stablehlo.while"() ({
    %c = stablehlo.constant dense<false> : tensor<i1>
    stablehlo.return %c : tensor<i1>
  }, {
    stablehlo.return
  }) : () -> ()
  return %x : tensor<i32>
}
// -----
// Report: random integers of an empty interval, or of one number, run out of it
// Rule: specification, "rng": UNIFORM is of [a, b); b = a + 1 leaves one integer.
// Input: dense<5> : tensor<i32>, dense<6> : tensor<i32>
// Right: dense<5> : tensor<4xi32>
func.func @main(%a: tensor<i32>, %b: tensor<i32>) -> tensor<4xi32> {
  %s = stablehlo.constant dense<4> : tensor<1xi64>
  %0 = stablehlo.rng %a, %b, %s, distribution = UNIFORM : (tensor<i32>, tensor<i32>, tensor<1xi64>) -> tensor<4xi32>
  return %0 : tensor<4xi32>
}
// -----
// Report: random floats reach the upper end of the interval through rounding
// Rule: specification, "rng": UNIFORM is of [a, b), so never b.
// Input: dense<1.0> : tensor<f32>, dense<0x3F800001> : tensor<f32>
// Right: dense<1.0> : tensor<8xf32>
func.func @main(%a: tensor<f32>, %b: tensor<f32>) -> tensor<8xf32> {
  %s = stablehlo.constant dense<8> : tensor<1xi64>
  %0 = stablehlo.rng %a, %b, %s, distribution = UNIFORM : (tensor<f32>, tensor<f32>, tensor<1xi64>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}
