// Handlers of XLA's foreign function interface for ffi_checks.py, which compiles them with jaxlib's headers.

#include <atomic>
#include <chrono>
#include <complex>
#include <cstring>
#include <string>
#include <string_view>
#include <thread>

#include "xla/ffi/api/ffi.h"

namespace ffi = xla::ffi;

// ---- operands, results, scalars and errors

static ffi::Error Scale(ffi::Buffer<ffi::F32> x, ffi::ResultBuffer<ffi::F32> y, float factor) {
    if (factor < 0) return ffi::Error::InvalidArgument("the factor is negative");
    for (size_t i = 0; i < x.element_count(); i++) y->typed_data()[i] = factor * x.typed_data()[i];
    return ffi::Error::Success();
}
XLA_FFI_DEFINE_HANDLER_SYMBOL(
    scale, Scale,
    ffi::Ffi::Bind().Arg<ffi::Buffer<ffi::F32>>().Ret<ffi::Buffer<ffi::F32>>().Attr<float>("factor"));

// ---- any operands; the first result describes them, the second one copies the first operand

static ffi::Error Describe(ffi::RemainingArgs operands, ffi::ResultBuffer<ffi::S64> described, ffi::Result<ffi::AnyBuffer> copy) {
    int64_t *to = described->typed_data();
    for (size_t i = 0; i < operands.size(); i++) {
        auto operand = operands.get<ffi::AnyBuffer>(i);
        if (!operand) return operand.error();
        *to++ = static_cast<int64_t>(operand->element_type());
        *to++ = static_cast<int64_t>(operand->dimensions().size());
        *to++ = static_cast<int64_t>(operand->size_bytes());
        *to++ = reinterpret_cast<uintptr_t>(operand->untyped_data()) % 64;
    }
    auto first = operands.get<ffi::AnyBuffer>(0);
    std::memcpy(copy->untyped_data(), first->untyped_data(), first->size_bytes());
    return ffi::Error::Success();
}
XLA_FFI_DEFINE_HANDLER_SYMBOL(
    describe, Describe,
    ffi::Ffi::Bind().RemainingArgs().Ret<ffi::Buffer<ffi::S64>>().Ret<ffi::AnyBuffer>());

// ---- attributes of every kind

static ffi::Error Attributes(
    ffi::ResultBuffer<ffi::F64> y, ffi::Span<const int32_t> array, bool flag, ffi::Dictionary inner, int64_t integer,
    double number, std::string_view text) {
    double *to = y->typed_data();
    auto depth = inner.get<int32_t>("depth");
    auto name = inner.get<std::string_view>("name");
    if (!depth || !name) return ffi::Error::InvalidArgument("the dictionary lacks a value");
    *to++ = array.size(), *to++ = array[array.size() - 1], *to++ = flag, *to++ = *depth, *to++ = name->size();
    *to++ = integer, *to++ = number, *to++ = text.size();
    return ffi::Error::Success();
}
XLA_FFI_DEFINE_HANDLER_SYMBOL(
    attributes, Attributes,
    ffi::Ffi::Bind()
        .Ret<ffi::Buffer<ffi::F64>>()
        .Attr<ffi::Span<const int32_t>>("array")
        .Attr<bool>("flag")
        .Attr<ffi::Dictionary>("inner")
        .Attr<int64_t>("integer")
        .Attr<double>("number")
        .Attr<std::string_view>("text"));

// ---- state of the program, and of a call

static std::atomic<int64_t> alive{0};

struct Counter {
    static ffi::TypeId id;
    static ffi::TypeInfo info;
    explicit Counter(int64_t first) : next(first) { alive++; }
    ~Counter() { alive--; }
    std::atomic<int64_t> next;
};
ffi::TypeId Counter::id = {};
ffi::TypeInfo Counter::info = ffi::MakeTypeInfo<Counter>();

extern "C" void *counter_id() { return &Counter::id; }
extern "C" void *counter_info() { return &Counter::info; }
extern "C" int64_t counters_alive() { return alive; }

static ffi::ErrorOr<std::unique_ptr<Counter>> Instantiate(int64_t first) {
    if (first < 0) return ffi::Unexpected(ffi::Error::InvalidArgument("counts from 0 on"));
    return std::make_unique<Counter>(first);
}
XLA_FFI_DEFINE_HANDLER_SYMBOL(count_instantiate, Instantiate, ffi::Ffi::BindInstantiate().Attr<int64_t>("first"));

static ffi::ErrorOr<std::unique_ptr<Counter>> Initialize(ffi::ResultBuffer<ffi::S64>, int64_t first) {
    return std::make_unique<Counter>(first + 1000);
}
XLA_FFI_DEFINE_HANDLER_SYMBOL(
    count_initialize, Initialize,
    ffi::Ffi::Bind<ffi::ExecutionStage::kInitialize>().Ret<ffi::Buffer<ffi::S64>>().Attr<int64_t>("first"));

static ffi::Error Count(
    Counter *counter, Counter *of_call, ffi::ResultBuffer<ffi::S64> y, int64_t first) {
    y->typed_data()[0] = counter->next++;
    y->typed_data()[1] = of_call->next++;
    y->typed_data()[2] = alive;
    return ffi::Error::Success();
}
using StateOfCall = ffi::State<Counter, ffi::ExecutionStage::kInitialize>;
XLA_FFI_DEFINE_HANDLER_SYMBOL(
    count_execute, Count,
    ffi::Ffi::Bind()
        .Ctx<ffi::State<Counter>>()
        .Ctx<StateOfCall>()
        .Ret<ffi::Buffer<ffi::S64>>()
        .Attr<int64_t>("first"));

// ---- what the runtime offers to a call: memory, threads, numbers; results that come later

static ffi::Error Services(
    ffi::ScratchAllocator scratch, ffi::ThreadPool pool, ffi::RunId run, int32_t device, ffi::ResultBuffer<ffi::S64> y) {
    auto memory = scratch.Allocate(1000, 256);
    if (!memory) return ffi::Error::Internal("there is no memory");
    std::memset(*memory, 1, 1000);
    std::atomic<int64_t> sum{0};
    std::atomic<int> done{0};
    for (int i = 0; i < 10; i++) pool.Schedule([&, i] { sum += i, done++; });
    while (done < 10) std::this_thread::yield();
    y->typed_data()[0] = reinterpret_cast<uintptr_t>(*memory) % 256;
    y->typed_data()[1] = sum;
    y->typed_data()[2] = pool.num_threads() > 0;
    y->typed_data()[3] = run.run_id;
    y->typed_data()[4] = device;
    return ffi::Error::Success();
}
XLA_FFI_DEFINE_HANDLER_SYMBOL(
    services, Services,
    ffi::Ffi::Bind()
        .Ctx<ffi::ScratchAllocator>()
        .Ctx<ffi::ThreadPool>()
        .Ctx<ffi::RunId>()
        .Ctx<ffi::DeviceOrdinal>()
        .Ret<ffi::Buffer<ffi::S64>>());

static ffi::Future Later(ffi::Buffer<ffi::F32> x, ffi::ResultBuffer<ffi::F32> y, bool fails) {
    ffi::Promise promise;
    ffi::Future future(promise);
    std::thread([=, promise = std::move(promise), from = x.typed_data(), to = y->typed_data(),
                 count = x.element_count()]() mutable {
        std::this_thread::sleep_for(std::chrono::milliseconds(30));
        for (size_t i = 0; i < count; i++) to[i] = from[i] + 1;
        if (fails) promise.SetError(ffi::Error(ffi::ErrorCode::kDataLoss, "lost on the way"));
        else promise.SetAvailable();
    }).detach();
    return future;
}
XLA_FFI_DEFINE_HANDLER_SYMBOL(
    later, Later,
    ffi::Ffi::Bind().Arg<ffi::Buffer<ffi::F32>>().Ret<ffi::Buffer<ffi::F32>>().Attr<bool>("fails"));

static ffi::Error Streaming(void *stream, ffi::ResultBuffer<ffi::F32>) { return ffi::Error::Success(); }
XLA_FFI_DEFINE_HANDLER_SYMBOL(
    streaming, Streaming,
    ffi::Ffi::Bind().Ctx<ffi::PlatformStream<void *>>().Ret<ffi::Buffer<ffi::F32>>());

// ---- options of one execution, and extensions of its context: 1 where there are none

#if XLA_FFI_API_MAJOR == 0 && XLA_FFI_API_MINOR >= 5
struct Absent {
    using CExtension = XLA_FFI_Extension;
    using Type = int;
    static constexpr auto kName = "Absent";
    static constexpr int64_t kExtensionType = 1234567;
    static constexpr int32_t kMajorVersion = 1, kMinorVersion = 0;
    static Type Create(const XLA_FFI_Api *, const XLA_FFI_Extension *) { return 0; }
};
XLA_FFI_DEFINE_HANDLER_SYMBOL(
    extended, ([](int, ffi::ResultBuffer<ffi::S64>) { return ffi::Error::Success(); }),
    ffi::Ffi::Bind().Ctx<ffi::Extension<Absent>>().Ret<ffi::Buffer<ffi::S64>>());

static ffi::Error WithoutOptions(ffi::Dictionary options, ffi::ResultBuffer<ffi::S64> y) {
    y->typed_data()[0] = options.size() == 0 && !options.contains("name");
    return ffi::Error::Success();
}
XLA_FFI_DEFINE_HANDLER_SYMBOL(
    without_options, WithoutOptions,
    ffi::Ffi::Bind().Ctx<ffi::CustomOptions>().Ret<ffi::Buffer<ffi::S64>>());
#endif

// ---- what is no handler of this version

extern "C" XLA_FFI_Error *other_version(XLA_FFI_CallFrame *frame) {
    if (frame->extension_start != nullptr) {
        auto *extension = reinterpret_cast<XLA_FFI_Metadata_Extension *>(frame->extension_start);
        extension->metadata->api_version.major_version = 7;
    }
    return nullptr;
}
extern "C" void untyped(void *, void **) {}
