module @jit_cluster attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main() -> (tensor<5x2xf32> {jax.result_info = "result['centroids']"}, tensor<i32> {jax.result_info = "result['iterations']"}, tensor<5xi32> {jax.result_info = "result['sizes']"}) {
    %0 = stablehlo.iota dim = 0 : tensor<600xf32>
    %c = stablehlo.constant dense<5> : tensor<i32>
    %1 = call @remainder(%0, %c) : (tensor<600xf32>, tensor<i32>) -> tensor<600xf32>
    %cst = stablehlo.constant dense<1.2566371> : tensor<f32>
    %2 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<600xf32>
    %3 = stablehlo.multiply %2, %1 : tensor<600xf32>
    %4 = stablehlo.cosine %3 : tensor<600xf32>
    %5 = stablehlo.sine %3 : tensor<600xf32>
    %6 = stablehlo.broadcast_in_dim %4, dims = [0] : (tensor<600xf32>) -> tensor<600x1xf32>
    %7 = stablehlo.broadcast_in_dim %5, dims = [0] : (tensor<600xf32>) -> tensor<600x1xf32>
    %8 = stablehlo.concatenate %6, %7, dim = 1 : (tensor<600x1xf32>, tensor<600x1xf32>) -> tensor<600x2xf32>
    %cst_0 = stablehlo.constant dense<4.000000e+00> : tensor<f32>
    %9 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<600x2xf32>
    %10 = stablehlo.multiply %9, %8 : tensor<600x2xf32>
    %cst_1 = stablehlo.constant dense<1.298980e+01> : tensor<f32>
    %11 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f32>) -> tensor<600xf32>
    %12 = stablehlo.multiply %11, %0 : tensor<600xf32>
    %13 = stablehlo.sine %12 : tensor<600xf32>
    %cst_2 = stablehlo.constant dense<7.823300e+01> : tensor<f32>
    %14 = stablehlo.broadcast_in_dim %cst_2, dims = [] : (tensor<f32>) -> tensor<600xf32>
    %15 = stablehlo.multiply %14, %0 : tensor<600xf32>
    %16 = stablehlo.sine %15 : tensor<600xf32>
    %17 = stablehlo.broadcast_in_dim %13, dims = [0] : (tensor<600xf32>) -> tensor<600x1xf32>
    %18 = stablehlo.broadcast_in_dim %16, dims = [0] : (tensor<600xf32>) -> tensor<600x1xf32>
    %19 = stablehlo.concatenate %17, %18, dim = 1 : (tensor<600x1xf32>, tensor<600x1xf32>) -> tensor<600x2xf32>
    %20 = stablehlo.add %10, %19 : tensor<600x2xf32>
    %21 = stablehlo.slice %20 [0:25:5, 0:2] : (tensor<600x2xf32>) -> tensor<5x2xf32>
    %22 = stablehlo.broadcast_in_dim %20, dims = [0, 2] : (tensor<600x2xf32>) -> tensor<600x1x2xf32>
    %23 = stablehlo.broadcast_in_dim %21, dims = [1, 2] : (tensor<5x2xf32>) -> tensor<1x5x2xf32>
    %24 = stablehlo.broadcast_in_dim %22, dims = [0, 1, 2] : (tensor<600x1x2xf32>) -> tensor<600x5x2xf32>
    %25 = stablehlo.broadcast_in_dim %23, dims = [0, 1, 2] : (tensor<1x5x2xf32>) -> tensor<600x5x2xf32>
    %26 = stablehlo.subtract %24, %25 : tensor<600x5x2xf32>
    %27 = stablehlo.multiply %26, %26 : tensor<600x5x2xf32>
    %cst_3 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %28 = stablehlo.reduce(%27 init: %cst_3) applies stablehlo.add across dimensions = [2] : (tensor<600x5x2xf32>, tensor<f32>) -> tensor<600x5xf32>
    %29 = call @argmin(%28) : (tensor<600x5xf32>) -> tensor<600xi32>
    %c_4 = stablehlo.constant dense<0> : tensor<i32>
    %c_5 = stablehlo.constant dense<true> : tensor<i1>
    %30:5 = stablehlo.while(%iterArg = %20, %iterArg_11 = %21, %iterArg_12 = %29, %iterArg_13 = %c_4, %iterArg_14 = %c_5) : tensor<600x2xf32>, tensor<5x2xf32>, tensor<600xi32>, tensor<i32>, tensor<i1>
    cond {
      stablehlo.return %iterArg_14 : tensor<i1>
    } do {
      %cst_15 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
      %41 = stablehlo.broadcast_in_dim %cst_15, dims = [] : (tensor<f32>) -> tensor<5x2xf32>
      %42 = stablehlo.broadcast_in_dim %iterArg_12, dims = [0] : (tensor<600xi32>) -> tensor<600x1xi32>
      %43 = "stablehlo.scatter"(%41, %42, %iterArg) <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, unique_indices = false}> ({
      ^bb0(%arg0: tensor<f32>, %arg1: tensor<f32>):
        %68 = stablehlo.add %arg0, %arg1 : tensor<f32>
        stablehlo.return %68 : tensor<f32>
      }) : (tensor<5x2xf32>, tensor<600x1xi32>, tensor<600x2xf32>) -> tensor<5x2xf32>
      %cst_16 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
      %44 = stablehlo.broadcast_in_dim %cst_16, dims = [] : (tensor<f32>) -> tensor<600xf32>
      %cst_17 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
      %45 = stablehlo.broadcast_in_dim %cst_17, dims = [] : (tensor<f32>) -> tensor<5xf32>
      %46 = stablehlo.broadcast_in_dim %iterArg_12, dims = [0] : (tensor<600xi32>) -> tensor<600x1xi32>
      %47 = "stablehlo.scatter"(%45, %46, %44) <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, unique_indices = false}> ({
      ^bb0(%arg0: tensor<f32>, %arg1: tensor<f32>):
        %68 = stablehlo.add %arg0, %arg1 : tensor<f32>
        stablehlo.return %68 : tensor<f32>
      }) : (tensor<5xf32>, tensor<600x1xi32>, tensor<600xf32>) -> tensor<5xf32>
      %48 = stablehlo.broadcast_in_dim %47, dims = [0] : (tensor<5xf32>) -> tensor<5x1xf32>
      %cst_18 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
      %49 = stablehlo.broadcast_in_dim %cst_18, dims = [] : (tensor<f32>) -> tensor<5x1xf32>
      %50 = stablehlo.compare GT, %48, %49, FLOAT : (tensor<5x1xf32>, tensor<5x1xf32>) -> tensor<5x1xi1>
      %cst_19 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
      %51 = stablehlo.broadcast_in_dim %cst_19, dims = [] : (tensor<f32>) -> tensor<5xf32>
      %52 = stablehlo.maximum %47, %51 : tensor<5xf32>
      %53 = stablehlo.broadcast_in_dim %52, dims = [0] : (tensor<5xf32>) -> tensor<5x1xf32>
      %54 = stablehlo.broadcast_in_dim %53, dims = [0, 1] : (tensor<5x1xf32>) -> tensor<5x2xf32>
      %55 = stablehlo.divide %43, %54 : tensor<5x2xf32>
      %56 = func.call @_where(%50, %55, %iterArg_11) : (tensor<5x1xi1>, tensor<5x2xf32>, tensor<5x2xf32>) -> tensor<5x2xf32>
      %57 = stablehlo.broadcast_in_dim %iterArg, dims = [0, 2] : (tensor<600x2xf32>) -> tensor<600x1x2xf32>
      %58 = stablehlo.broadcast_in_dim %56, dims = [1, 2] : (tensor<5x2xf32>) -> tensor<1x5x2xf32>
      %59 = stablehlo.broadcast_in_dim %57, dims = [0, 1, 2] : (tensor<600x1x2xf32>) -> tensor<600x5x2xf32>
      %60 = stablehlo.broadcast_in_dim %58, dims = [0, 1, 2] : (tensor<1x5x2xf32>) -> tensor<600x5x2xf32>
      %61 = stablehlo.subtract %59, %60 : tensor<600x5x2xf32>
      %62 = stablehlo.multiply %61, %61 : tensor<600x5x2xf32>
      %cst_20 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
      %63 = stablehlo.reduce(%62 init: %cst_20) applies stablehlo.add across dimensions = [2] : (tensor<600x5x2xf32>, tensor<f32>) -> tensor<600x5xf32>
      %64 = func.call @argmin(%63) : (tensor<600x5xf32>) -> tensor<600xi32>
      %c_21 = stablehlo.constant dense<1> : tensor<i32>
      %65 = stablehlo.add %iterArg_13, %c_21 : tensor<i32>
      %66 = stablehlo.compare NE, %64, %iterArg_12, SIGNED : (tensor<600xi32>, tensor<600xi32>) -> tensor<600xi1>
      %c_22 = stablehlo.constant dense<false> : tensor<i1>
      %67 = stablehlo.reduce(%66 init: %c_22) applies stablehlo.or across dimensions = [0] : (tensor<600xi1>, tensor<i1>) -> tensor<i1>
      stablehlo.return %iterArg, %56, %64, %65, %67 : tensor<600x2xf32>, tensor<5x2xf32>, tensor<600xi32>, tensor<i32>, tensor<i1>
    }
    %c_6 = stablehlo.constant dense<0> : tensor<i32>
    %31 = stablehlo.broadcast_in_dim %c_6, dims = [] : (tensor<i32>) -> tensor<5xi32>
    %c_7 = stablehlo.constant dense<0> : tensor<i32>
    %32 = call @clip(%30#2, %c_7) : (tensor<600xi32>, tensor<i32>) -> tensor<600xi32>
    %c_8 = stablehlo.constant dense<0> : tensor<i32>
    %33 = stablehlo.broadcast_in_dim %c_8, dims = [] : (tensor<i32>) -> tensor<600xi32>
    %34 = stablehlo.compare LT, %32, %33, SIGNED : (tensor<600xi32>, tensor<600xi32>) -> tensor<600xi1>
    %c_9 = stablehlo.constant dense<5> : tensor<i32>
    %35 = stablehlo.broadcast_in_dim %c_9, dims = [] : (tensor<i32>) -> tensor<600xi32>
    %36 = stablehlo.add %32, %35 : tensor<600xi32>
    %37 = stablehlo.select %34, %36, %32 : tensor<600xi1>, tensor<600xi32>
    %38 = stablehlo.broadcast_in_dim %37, dims = [0] : (tensor<600xi32>) -> tensor<600x1xi32>
    %c_10 = stablehlo.constant dense<1> : tensor<i32>
    %39 = stablehlo.broadcast_in_dim %c_10, dims = [] : (tensor<i32>) -> tensor<600xi32>
    %40 = "stablehlo.scatter"(%31, %38, %39) <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, unique_indices = false}> ({
    ^bb0(%arg0: tensor<i32>, %arg1: tensor<i32>):
      %41 = stablehlo.add %arg0, %arg1 : tensor<i32>
      stablehlo.return %41 : tensor<i32>
    }) : (tensor<5xi32>, tensor<600x1xi32>, tensor<600xi32>) -> tensor<5xi32>
    return %30#1, %30#3, %40 : tensor<5x2xf32>, tensor<i32>, tensor<5xi32>
  }
  func.func private @remainder(%arg0: tensor<600xf32>, %arg1: tensor<i32>) -> tensor<600xf32> {
    %0 = stablehlo.convert %arg1 : (tensor<i32>) -> tensor<f32>
    %1 = stablehlo.broadcast_in_dim %0, dims = [] : (tensor<f32>) -> tensor<600xf32>
    %2 = stablehlo.remainder %arg0, %1 : tensor<600xf32>
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %3 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<600xf32>
    %4 = stablehlo.compare NE, %2, %3, FLOAT : (tensor<600xf32>, tensor<600xf32>) -> tensor<600xi1>
    %cst_0 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %5 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<600xf32>
    %6 = stablehlo.compare LT, %2, %5, FLOAT : (tensor<600xf32>, tensor<600xf32>) -> tensor<600xi1>
    %cst_1 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %7 = stablehlo.compare LT, %0, %cst_1, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %8 = stablehlo.broadcast_in_dim %7, dims = [] : (tensor<i1>) -> tensor<600xi1>
    %9 = stablehlo.compare NE, %6, %8, UNSIGNED : (tensor<600xi1>, tensor<600xi1>) -> tensor<600xi1>
    %10 = stablehlo.and %9, %4 : tensor<600xi1>
    %11 = stablehlo.broadcast_in_dim %0, dims = [] : (tensor<f32>) -> tensor<600xf32>
    %12 = stablehlo.add %2, %11 : tensor<600xf32>
    %13 = stablehlo.select %10, %12, %2 : tensor<600xi1>, tensor<600xf32>
    return %13 : tensor<600xf32>
  }
  func.func private @argmin(%arg0: tensor<600x5xf32>) -> tensor<600xi32> {
    %0 = stablehlo.iota dim = 1 : tensor<600x5xi32>
    %cst = stablehlo.constant dense<0x7F800000> : tensor<f32>
    %c = stablehlo.constant dense<0> : tensor<i32>
    %1:2 = stablehlo.reduce(%arg0 init: %cst), (%0 init: %c) across dimensions = [1] : (tensor<600x5xf32>, tensor<600x5xi32>, tensor<f32>, tensor<i32>) -> (tensor<600xf32>, tensor<600xi32>)
     reducer(%arg1: tensor<f32>, %arg3: tensor<f32>) (%arg2: tensor<i32>, %arg4: tensor<i32>)  {
      %2 = stablehlo.compare LT, %arg1, %arg3, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %3 = stablehlo.compare NE, %arg1, %arg1, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %4 = stablehlo.or %2, %3 : tensor<i1>
      %5 = stablehlo.compare EQ, %arg1, %arg3, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %6 = stablehlo.compare LT, %arg2, %arg4, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      %7 = stablehlo.and %5, %6 : tensor<i1>
      %8 = stablehlo.or %4, %7 : tensor<i1>
      %9 = stablehlo.select %4, %arg1, %arg3 : tensor<i1>, tensor<f32>
      %10 = stablehlo.select %8, %arg2, %arg4 : tensor<i1>, tensor<i32>
      stablehlo.return %9, %10 : tensor<f32>, tensor<i32>
    }
    return %1#1 : tensor<600xi32>
  }
  func.func private @_where(%arg0: tensor<5x1xi1>, %arg1: tensor<5x2xf32>, %arg2: tensor<5x2xf32>) -> tensor<5x2xf32> {
    %0 = stablehlo.broadcast_in_dim %arg0, dims = [0, 1] : (tensor<5x1xi1>) -> tensor<5x2xi1>
    %1 = stablehlo.select %0, %arg1, %arg2 : tensor<5x2xi1>, tensor<5x2xf32>
    return %1 : tensor<5x2xf32>
  }
  func.func private @clip(%arg0: tensor<600xi32>, %arg1: tensor<i32>) -> tensor<600xi32> {
    %0 = stablehlo.convert %arg1 : tensor<i32>
    %1 = stablehlo.broadcast_in_dim %0, dims = [] : (tensor<i32>) -> tensor<600xi32>
    %2 = stablehlo.maximum %1, %arg0 : tensor<600xi32>
    return %2 : tensor<600xi32>
  }
}
