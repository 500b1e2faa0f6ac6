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
// -----
// Report: a function that calls itself overflows the compiler's stack, or is inlined without end
// Rule: docs/numerics.md: a function that calls itself is refused, because programs are inlined.
// Right: UnsupportedError
func.func @main(%x: tensor<3xf32>) -> tensor<3xf32> {
  %0 = func.call @twice(%x) : (tensor<3xf32>) -> tensor<3xf32>
  return %0 : tensor<3xf32>
}
func.func private @twice(%x: tensor<3xf32>) -> tensor<3xf32> {
  %0 = stablehlo.add %x, %x : tensor<3xf32>
  %1 = func.call @main(%0) : (tensor<3xf32>) -> tensor<3xf32>
  return %1 : tensor<3xf32>
}
// -----
// Report: a comparator that calls a function which the program calls on whole tensors too is refused
// Rule: specification, "sort": the comparator's results order the elements; a call means its function's body.
// Input: dense<[3, -1, 2, -4]> : tensor<4xi32>, dense<[5, 6, 7, 8]> : tensor<4xi32>
// Right: dense<[-1, 2, 3, -4]> : tensor<4xi32>, dense<[6, 7, 5, 8]> : tensor<4xi32>, dense<[9, 1, 4, 16]> : tensor<4xi32>
func.func @main(%x: tensor<4xi32>, %y: tensor<4xi32>) -> (tensor<4xi32>, tensor<4xi32>, tensor<4xi32>) {
  %0:2 = call @sorted(%x, %y) : (tensor<4xi32>, tensor<4xi32>) -> (tensor<4xi32>, tensor<4xi32>)
  %1 = "stablehlo.map"(%x) ({
  ^bb0(%a: tensor<i32>):
    %s = func.call @square(%a) : (tensor<i32>) -> tensor<i32>
    stablehlo.return %s : tensor<i32>
  }) {dimensions = array<i64: 0>} : (tensor<4xi32>) -> tensor<4xi32>
  return %0#0, %0#1, %1 : tensor<4xi32>, tensor<4xi32>, tensor<4xi32>
}
func.func private @sorted(%x: tensor<4xi32>, %y: tensor<4xi32>) -> (tensor<4xi32>, tensor<4xi32>) {
  %0:2 = "stablehlo.sort"(%x, %y) ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>, %c: tensor<i32>, %d: tensor<i32>):
    %p = func.call @before(%a, %b) : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  }) {dimension = 0 : i64, is_stable = true} : (tensor<4xi32>, tensor<4xi32>) -> (tensor<4xi32>, tensor<4xi32>)
  return %0#0, %0#1 : tensor<4xi32>, tensor<4xi32>
}
func.func private @before(%a: tensor<i32>, %b: tensor<i32>) -> tensor<i1> {
  %s = call @square(%a) : (tensor<i32>) -> tensor<i32>
  %t = call @square(%b) : (tensor<i32>) -> tensor<i32>
  %p = stablehlo.compare LT, %s, %t : (tensor<i32>, tensor<i32>) -> tensor<i1>
  return %p : tensor<i1>
}
func.func private @square(%a: tensor<i32>) -> tensor<i32> {
  %s = stablehlo.multiply %a, %a : tensor<i32>
  return %s : tensor<i32>
}
// -----
// Report: a branch that takes some elements of a tuple loses those that the other branch takes
// Rule: specification, "if": the executed branch uses values of the enclosing scope; "get_tuple_element": its element.
// Input: dense<false> : tensor<i1>, dense<[1, 2]> : tensor<2xi32>, dense<[3, 4]> : tensor<2xi32>, dense<[5, 6]> : tensor<2xi32>
// Right: dense<[8, 10]> : tensor<2xi32>
func.func @main(%p: tensor<i1>, %a: tensor<2xi32>, %b: tensor<2xi32>, %c: tensor<2xi32>) -> tensor<2xi32> {
  %t = stablehlo.tuple %a, %b, %c : tuple<tensor<2xi32>, tensor<2xi32>, tensor<2xi32>>
  %0 = "stablehlo.if"(%p) ({
    %x = stablehlo.get_tuple_element %t[0] : (tuple<tensor<2xi32>, tensor<2xi32>, tensor<2xi32>>) -> tensor<2xi32>
    stablehlo.return %x : tensor<2xi32>
  }, {
    %x = stablehlo.get_tuple_element %t[1] : (tuple<tensor<2xi32>, tensor<2xi32>, tensor<2xi32>>) -> tensor<2xi32>
    %y = stablehlo.get_tuple_element %t[2] : (tuple<tensor<2xi32>, tensor<2xi32>, tensor<2xi32>>) -> tensor<2xi32>
    %z = stablehlo.add %x, %y : tensor<2xi32>
    stablehlo.return %z : tensor<2xi32>
  }) : (tensor<i1>) -> tensor<2xi32>
  return %0 : tensor<2xi32>
}
// -----
// Report: a loop whose body returns one value twice, and a parameter as it is, fails when copies are inserted
// Rule: specification, "while": the body's results become the next iteration's operands.
// Input: dense<[1, 2]> : tensor<2xi32>, dense<[3, 4]> : tensor<2xi32>
// Right: dense<[3, 4]> : tensor<2xi32>, dense<[3, 4]> : tensor<2xi32>, dense<[1, 2]> : tensor<2xi32>
func.func @main(%x: tensor<2xi32>, %y: tensor<2xi32>) -> (tensor<2xi32>, tensor<2xi32>, tensor<2xi32>) {
  %z = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %two = stablehlo.constant dense<2> : tensor<i32>
  %0:4 = stablehlo.while(%i = %z, %a = %x, %b = %y, %c = %x) : tensor<i32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>
  cond {
    %p = stablehlo.compare LT, %i, %two : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  } do {
    %j = stablehlo.add %i, %one : tensor<i32>
    stablehlo.return %j, %b, %b, %c : tensor<i32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>
  }
  return %0#1, %0#2, %0#3 : tensor<2xi32>, tensor<2xi32>, tensor<2xi32>
}
// -----
// Report: a loop that carries nothing but its own condition never ends, or is removed
// Rule: specification, "while": it ends as soon as cond returns false.
// Right: dense<false> : tensor<i1>
func.func @main() -> tensor<i1> {
  %true = stablehlo.constant dense<true> : tensor<i1>
  %0 = stablehlo.while(%c = %true) : tensor<i1>
  cond {
    stablehlo.return %c : tensor<i1>
  } do {
    %n = stablehlo.not %c : tensor<i1>
    stablehlo.return %n : tensor<i1>
  }
  return %0 : tensor<i1>
}
// -----
// Report: a loop over a buffer of bounded size that shrinks takes the bound for the size in its condition
// Rule: docs/dynamism.md: "get_dimension_size" reads the size that "set_dimension_size" has set.
// Input: dense<[1, 2, 3, 4]> : tensor<4xi32>
// Right: dense<[1, 2]> : tensor<2xi32>, dense<7> : tensor<i32>
func.func @main(%x: tensor<4xi32>) -> (tensor<?xi32, #stablehlo.bounds<4>>, tensor<i32>) {
  %four = stablehlo.constant dense<4> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %two = stablehlo.constant dense<2> : tensor<i32>
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %b = stablehlo.set_dimension_size %x, %four, dim = 0 : (tensor<4xi32>, tensor<i32>) -> tensor<?xi32, #stablehlo.bounds<4>>
  %0:2 = stablehlo.while(%s = %b, %n = %zero) : tensor<?xi32, #stablehlo.bounds<4>>, tensor<i32>
  cond {
    %k = stablehlo.get_dimension_size %s, dim = 0 : (tensor<?xi32, #stablehlo.bounds<4>>) -> tensor<i32>
    %p = stablehlo.compare GT, %k, %two : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  } do {
    %k = stablehlo.get_dimension_size %s, dim = 0 : (tensor<?xi32, #stablehlo.bounds<4>>) -> tensor<i32>
    %m = stablehlo.add %n, %k : tensor<i32>
    %l = stablehlo.subtract %k, %one : tensor<i32>
    %r = stablehlo.set_dimension_size %s, %l, dim = 0 : (tensor<?xi32, #stablehlo.bounds<4>>, tensor<i32>) -> tensor<?xi32, #stablehlo.bounds<4>>
    stablehlo.return %r, %m : tensor<?xi32, #stablehlo.bounds<4>>, tensor<i32>
  }
  return %0#0, %0#1 : tensor<?xi32, #stablehlo.bounds<4>>, tensor<i32>
}
// -----
// Report: a loop whose step passes its limit is replaced by the value before it
// Rule: specification, "while": the body runs while cond is true: 0 < 1 once, then the index is 3.
// Input: dense<0> : tensor<i64>
// Right: dense<3> : tensor<i64>, dense<1> : tensor<i64>
func.func @main(%x: tensor<i64>) -> (tensor<i64>, tensor<i64>) {
  %one = stablehlo.constant dense<1> : tensor<i64>
  %three = stablehlo.constant dense<3> : tensor<i64>
  %0:2 = stablehlo.while(%i = %x, %n = %x) : tensor<i64>, tensor<i64>
  cond {
    %p = stablehlo.compare LT, %i, %one : (tensor<i64>, tensor<i64>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  } do {
    %j = stablehlo.add %i, %three : tensor<i64>
    %m = stablehlo.add %n, %one : tensor<i64>
    stablehlo.return %j, %m : tensor<i64>, tensor<i64>
  }
  return %0#0, %0#1 : tensor<i64>, tensor<i64>
}
// -----
// Report: loops in loops that start from values outside never end once they are compiled together
// Rule: specification, "while": the inner loop's operands are values of the enclosing scope at each iteration.
// Input: dense<2.0> : tensor<f32>, dense<1.0> : tensor<f32>
// Right: dense<9.0> : tensor<f32>
func.func @main(%a: tensor<f32>, %b: tensor<f32>) -> tensor<f32> {
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %one = stablehlo.constant dense<1.0> : tensor<f32>
  %0:2 = stablehlo.while(%i = %a, %s = %z) : tensor<f32>, tensor<f32>
  cond {
    %p = stablehlo.compare GT, %i, %z : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  } do {
    %k = stablehlo.add %b, %one : tensor<f32>
    %1:2 = stablehlo.while(%j = %k, %t = %s) : tensor<f32>, tensor<f32>
    cond {
      %p = stablehlo.compare GT, %j, %z : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %p : tensor<i1>
    } do {
      %u = stablehlo.add %i, %j : tensor<f32>
      %v = stablehlo.subtract %u, %k : tensor<f32>
      %w = stablehlo.multiply %v, %v : tensor<f32>
      %r = stablehlo.add %t, %w : tensor<f32>
      %m = stablehlo.subtract %j, %one : tensor<f32>
      stablehlo.return %m, %r : tensor<f32>, tensor<f32>
    }
    %n = stablehlo.subtract %i, %one : tensor<f32>
    %q = stablehlo.maximum %1#1, %one : tensor<f32>
    stablehlo.return %n, %q : tensor<f32>, tensor<f32>
  }
  %2 = stablehlo.add %0#1, %a : tensor<f32>
  %3 = stablehlo.add %2, %b : tensor<f32>
  return %3 : tensor<f32>
}
// -----
// Report: a conditional in a loop, whose other branch passes its values on, keeps or repeats an update
// Rule: specification, "if": only the executed branch has effect; "while": its results are the next operands.
// Input: dense<[1, 2]> : tensor<2xi32>
// Right: dense<[9, 18]> : tensor<2xi32>, dense<2> : tensor<i32>
func.func @main(%x: tensor<2xi32>) -> (tensor<2xi32>, tensor<i32>) {
  %z = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %two = stablehlo.constant dense<2> : tensor<i32>
  %five = stablehlo.constant dense<5> : tensor<i32>
  %three = stablehlo.constant dense<3> : tensor<2xi32>
  %0:3 = stablehlo.while(%i = %z, %v = %x, %n = %z) : tensor<i32>, tensor<2xi32>, tensor<i32>
  cond {
    %p = stablehlo.compare LT, %i, %five : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  } do {
    %r = stablehlo.remainder %i, %two : tensor<i32>
    %p = stablehlo.compare EQ, %r, %one : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %1:2 = "stablehlo.if"(%p) ({
      %w = stablehlo.multiply %v, %three : tensor<2xi32>
      %m = stablehlo.add %n, %one : tensor<i32>
      stablehlo.return %w, %m : tensor<2xi32>, tensor<i32>
    }, {
      stablehlo.return %v, %n : tensor<2xi32>, tensor<i32>
    }) : (tensor<i1>) -> (tensor<2xi32>, tensor<i32>)
    %j = stablehlo.add %i, %one : tensor<i32>
    stablehlo.return %j, %1#0, %1#1 : tensor<i32>, tensor<2xi32>, tensor<i32>
  }
  return %0#1, %0#2 : tensor<2xi32>, tensor<i32>
}
