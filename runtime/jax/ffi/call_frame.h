/* What a handler of XLA's foreign function interface is called with, and the functions that it may call back: those of
   version 0.5, written from xla/ffi/api/c_api.h of openxla/xla.

   A structure begins with its size, by which both sides recognize the version, and a list of extensions. Handlers have
   had a fifth stage since version 0.4, which records commands for a GPU; it is never called here. */

#ifndef NIMBLEHLO_CALL_FRAME_H
#define NIMBLEHLO_CALL_FRAME_H

#include <Python.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define FFI_SIZE_TO(type, last) (offsetof(type, last) + sizeof(((type *)0)->last))
#define FFI_HEAD size_t size; struct FfiExtension *extensions

enum { FFI_MAJOR = 0, FFI_MINOR = 5 };
enum { FFI_METADATA = 1, FFI_BUFFER = 1 };
enum { FFI_ARRAY = 1, FFI_DICTIONARY, FFI_SCALAR, FFI_STRING };
enum { FFI_INSTANTIATE, FFI_PREPARE, FFI_INITIALIZE, FFI_EXECUTE, FFI_STAGES };
enum { FFI_INVALID_ARGUMENT = 3, FFI_NOT_FOUND = 5, FFI_RESOURCE_EXHAUSTED = 8, FFI_UNIMPLEMENTED = 12 };

typedef struct FfiExtension { size_t size; int kind; struct FfiExtension *next; } FfiExtension;
typedef struct { FFI_HEAD; int major, minor; } FfiVersion;
typedef struct { size_t size; FfiVersion version; uint32_t traits; int64_t state_type; } FfiMetadata;
typedef struct { FfiExtension base; FfiMetadata *metadata; } FfiMetadataExtension;

typedef struct { FFI_HEAD; int type; void *data; int64_t rank; int64_t *dims; } FfiBuffer;
typedef struct { const char *data; size_t size; } FfiText;
typedef struct { int type; void *data; } FfiScalar;
typedef struct { int type; size_t count; void *data; } FfiArray;
typedef struct { FFI_HEAD; int64_t count; int *kinds; void **buffers; } FfiBuffers;
typedef struct { FFI_HEAD; int64_t count; int *kinds; FfiText **names; void **values; } FfiAttributes;

typedef struct { int code; char message[1]; } FfiError;
/* The lock is held until the handler completes the future. */
typedef struct { PyThread_type_lock completion_lock; FfiError *error; } FfiFuture;

/* The state that a handler keeps from one stage to later ones; type 0: none. */
typedef struct { int64_t type; void *value; } FfiState;

/* What a type of states is registered with. */
typedef struct { FFI_HEAD; void (*deleter)(void *object); } FfiTypeInfo;

/* The context of a handler's call. The state of the first stage lives as long as the program. */
typedef struct { FfiState *instantiated; FfiState prepared, initialized; int64_t run; } FfiContext;

struct FfiApi;
typedef struct {
    FFI_HEAD;
    const struct FfiApi *api;
    FfiContext *context;
    int stage;
    FfiBuffers arguments, results;
    FfiAttributes attributes;
    FfiFuture *future;
} FfiFrame;
typedef FfiError *(*FfiHandler)(FfiFrame *);

static FfiError *ffi_error(int code, const char *message) {
    size_t size = strlen(message);
    FfiError *error = (FfiError *)malloc(sizeof(FfiError) + size);
    if (error == NULL) abort();
    error->code = code;
    memcpy(error->message, message, size + 1);
    return error;
}

/* ---- functions that handlers call, by their arguments */

typedef struct { FFI_HEAD; const char *message; int code; } FfiErrorCreate;
typedef struct { FFI_HEAD; FfiError *error; const char *message; } FfiErrorMessage;
typedef struct { FFI_HEAD; FfiError *error; } FfiErrorDestroy;
typedef struct { FFI_HEAD; FfiContext *context; int stage; int64_t *type; void *value; } FfiStateArgs;
typedef struct { FFI_HEAD; FfiContext *context; size_t bytes, alignment; void *data; } FfiAllocate;
typedef struct { FFI_HEAD; FfiContext *context; size_t bytes; void *data; } FfiFree;
typedef struct { FFI_HEAD; FfiContext *context; void (*task)(void *); void *data; } FfiSchedule;
typedef struct { FFI_HEAD; FfiContext *context; int64_t *count; } FfiThreads;
typedef struct { FFI_HEAD; FfiFuture *future; FfiError *error; } FfiFutureArgs;
typedef struct { FFI_HEAD; FfiContext *context; int64_t run; } FfiRun;
typedef struct { FFI_HEAD; FfiContext *context; int32_t number; } FfiDevice;
typedef struct { FFI_HEAD; FfiContext *context; int64_t kind; const void *extension; } FfiFindExtension;
typedef struct { FFI_HEAD; FfiContext *context; const FfiAttributes *options; } FfiCustomOptions;

static FfiError *ffi_error_create(FfiErrorCreate *args) { return ffi_error(args->code, args->message); }
static void ffi_error_message(FfiErrorMessage *args) { args->message = args->error->message; }
static void ffi_error_destroy(FfiErrorDestroy *args) { free(args->error); }

static FfiError *ffi_refuse(void *args) {
    (void)args;
    return ffi_error(FFI_UNIMPLEMENTED, "NimbleHLO does not offer this function of the foreign function interface");
}

static FfiError *ffi_no_stream(void *args) {
    (void)args;
    return ffi_error(FFI_UNIMPLEMENTED, "there is no stream: this is no GPU");
}

static FfiError *ffi_no_user_data(void *args) {
    (void)args;
    return ffi_error(FFI_NOT_FOUND, "there is no data of this type in the execution context");
}

/* NULL where a stage has no state, or a handler of an earlier version names none. */
static FfiState *ffi_state_of(FfiStateArgs *args) {
    if (args->size < FFI_SIZE_TO(FfiStateArgs, value)) return NULL;
    if (args->stage == FFI_INSTANTIATE) return args->context->instantiated;
    if (args->stage == FFI_PREPARE) return &args->context->prepared;
    return args->stage == FFI_INITIALIZE ? &args->context->initialized : NULL;
}

static FfiError *ffi_no_state(void) {
    return ffi_error(FFI_INVALID_ARGUMENT, "this stage has no state, or the handler is of an earlier version of XLA's FFI");
}

static FfiError *ffi_state_set(FfiStateArgs *args) {
    FfiState *state = ffi_state_of(args);
    if (state == NULL) return ffi_no_state();
    if (state->value != NULL) return ffi_error(FFI_INVALID_ARGUMENT, "the state of this stage is set already");
    state->type = *args->type, state->value = args->value;
    return NULL;
}

static FfiError *ffi_state_get(FfiStateArgs *args) {
    FfiState *state = ffi_state_of(args);
    if (state == NULL) return ffi_no_state();
    if (state->value == NULL) return ffi_error(FFI_NOT_FOUND, "this stage has set no state");
    if (state->type != *args->type) return ffi_error(FFI_INVALID_ARGUMENT, "the state is of another type");
    args->value = state->value;
    return NULL;
}

/* Memory at any power of two; the pointer that malloc gave stands before it. */
static FfiError *ffi_allocate(FfiAllocate *args) {
    size_t alignment = args->alignment < sizeof(void *) ? sizeof(void *) : args->alignment;
    char *block = (char *)malloc(args->bytes + alignment + sizeof(void *));
    if (block == NULL) return ffi_error(FFI_RESOURCE_EXHAUSTED, "there is not enough memory for a handler");
    uintptr_t address = ((uintptr_t)block + sizeof(void *) + alignment - 1) / alignment * alignment;
    ((void **)address)[-1] = block;
    args->data = (void *)address;
    return NULL;
}

static FfiError *ffi_free(FfiFree *args) {
    if (args->data != NULL) free(((void **)args->data)[-1]);
    return NULL;
}

/* Tasks run at once, as on a pool of one thread. */
static FfiError *ffi_schedule(FfiSchedule *args) {
    args->task(args->data);
    return NULL;
}

static FfiError *ffi_count_threads(FfiThreads *args) {
    *args->count = 1;
    return NULL;
}

static FfiError *ffi_future_create(FfiFutureArgs *args) {
    FfiFuture *future = (FfiFuture *)malloc(sizeof(FfiFuture));
    if (future == NULL) abort();
    future->completion_lock = PyThread_allocate_lock();
    future->error = NULL;
    if (future->completion_lock == NULL) abort();
    PyThread_acquire_lock(future->completion_lock, WAIT_LOCK);
    args->future = future;
    return NULL;
}

static FfiError *ffi_future_complete(FfiFutureArgs *args) {
    PyThread_release_lock(args->future->completion_lock);
    return NULL;
}

static FfiError *ffi_future_fail(FfiFutureArgs *args) {
    args->future->error = args->error;
    return ffi_future_complete(args);
}

static FfiError *ffi_future_wait(FfiFuture *future) {
    FfiError *error;
    PyThread_acquire_lock(future->completion_lock, WAIT_LOCK);
    error = future->error;
    PyThread_free_lock(future->completion_lock);
    free(future);
    return error;
}

static FfiError *ffi_run(FfiRun *args) {
    args->run = args->context->run;
    return NULL;
}

static FfiError *ffi_device(FfiDevice *args) {
    args->number = 0;
    return NULL;
}

/* Extensions of a context are those of GPUs, such as collectives; a handler that needs one reports that it is absent. */
static FfiError *ffi_find_extension(FfiFindExtension *args) {
    args->extension = NULL;
    return NULL;
}

/* The options of one execution; JAX passes none, for which the interface asks for an empty dictionary. */
static FfiError *ffi_custom_options(FfiCustomOptions *args) {
    static const FfiAttributes none = {.size = FFI_SIZE_TO(FfiAttributes, values)};
    args->options = &none;
    return NULL;
}

typedef struct FfiApi {
    FFI_HEAD;
    FfiVersion version;
    const void *internal;
    void *error_create, *error_message, *error_destroy, *register_handler, *stream, *register_type, *user_data;
    void *state_set, *state_get, *allocate, *free, *schedule, *threads;
    void *future_create, *future_complete, *future_fail, *run, *device, *find_extension, *custom_options;
} FfiApi;

static const FfiApi FFI_API = {
    .size = sizeof(FfiApi),
    .version = {.size = FFI_SIZE_TO(FfiVersion, minor), .major = FFI_MAJOR, .minor = FFI_MINOR},
    .error_create = (void *)ffi_error_create,
    .error_message = (void *)ffi_error_message,
    .error_destroy = (void *)ffi_error_destroy,
    .register_handler = (void *)ffi_refuse,
    .stream = (void *)ffi_no_stream,
    .register_type = (void *)ffi_refuse,
    .user_data = (void *)ffi_no_user_data,
    .state_set = (void *)ffi_state_set,
    .state_get = (void *)ffi_state_get,
    .allocate = (void *)ffi_allocate,
    .free = (void *)ffi_free,
    .schedule = (void *)ffi_schedule,
    .threads = (void *)ffi_count_threads,
    .future_create = (void *)ffi_future_create,
    .future_complete = (void *)ffi_future_complete,
    .future_fail = (void *)ffi_future_fail,
    .run = (void *)ffi_run,
    .device = (void *)ffi_device,
    .find_extension = (void *)ffi_find_extension,
    .custom_options = (void *)ffi_custom_options,
};

/* A frame without buffers and attributes. */
static void ffi_begin(FfiFrame *frame, FfiContext *context) {
    memset(frame, 0, sizeof(FfiFrame));
    frame->size = FFI_SIZE_TO(FfiFrame, attributes);
    frame->api = &FFI_API;
    frame->context = context;
    frame->arguments.size = FFI_SIZE_TO(FfiBuffers, buffers);
    frame->results.size = FFI_SIZE_TO(FfiBuffers, buffers);
    frame->attributes.size = FFI_SIZE_TO(FfiAttributes, values);
}

/* Call a handler in one stage and wait for what it leaves running. */
static FfiError *ffi_call(FfiHandler handler, FfiFrame *frame, int stage) {
    FfiError *error;
    frame->stage = stage;
    frame->future = NULL;
    error = handler(frame);
    if (frame->future != NULL) {
        FfiError *later = ffi_future_wait(frame->future);
        if (error == NULL) error = later;
        else free(later);
    }
    return error;
}

/* The version of the interface that a handler was compiled for. */
static FfiError *ffi_version_of(FfiHandler handler, int *major, int *minor) {
    FfiFrame frame;
    FfiError *error;
    FfiMetadata metadata = {.size = sizeof(FfiMetadata), .version = {.size = FFI_SIZE_TO(FfiVersion, minor)}};
    FfiMetadataExtension extension = {
        .base = {.size = sizeof(FfiMetadataExtension), .kind = FFI_METADATA}, .metadata = &metadata};
    ffi_begin(&frame, NULL);
    frame.extensions = &extension.base;
    error = ffi_call(handler, &frame, FFI_EXECUTE);
    *major = metadata.version.major, *minor = metadata.version.minor;
    return error;
}

#endif
