# The C interface of PJRT, version 0.112, as structures of this project's own: OpenXLA's public header
# xla/pjrt/c/pjrt_c_api.h gives the order and the sizes of the fields. Every argument structure begins with its
# size and a chain of extensions. Functions whose argument structures have the same fields share one here.
#
# A caller of another version passes another size. `offer` in plugin.pyx states the last field that a function needs,
# and `lacks` finds structures without a field that it can do without.

cdef enum:
    API_MAJOR = 0
    API_MINOR = 112
    SLOTS = 138
    LATER_SLOTS = 64

cdef enum ErrorCode:
    CODE_OK = 0
    CODE_CANCELLED = 1
    CODE_UNKNOWN = 2
    CODE_INVALID_ARGUMENT = 3
    CODE_DEADLINE_EXCEEDED = 4
    CODE_NOT_FOUND = 5
    CODE_RESOURCE_EXHAUSTED = 8
    CODE_FAILED_PRECONDITION = 9
    CODE_UNIMPLEMENTED = 12
    CODE_INTERNAL = 13

cdef enum NamedValueType:
    VALUE_STRING = 0
    VALUE_INT64 = 1
    VALUE_INT64_LIST = 2
    VALUE_FLOAT = 3
    VALUE_BOOL = 4

cdef enum HostBufferSemantics:
    IMMUTABLE_ONLY_DURING_CALL = 0
    IMMUTABLE_UNTIL_TRANSFER_COMPLETES = 1
    IMMUTABLE_ZERO_COPY = 2
    MUTABLE_ZERO_COPY = 3

cdef enum ExtensionType:
    EXTENSION_LAYOUTS = 4
    EXTENSION_SHARDINGS = 19

cdef enum LayoutType:
    LAYOUT_TILED = 0
    LAYOUT_STRIDES = 1

cdef struct Extension:
    size_t struct_size
    int extension_type
    Extension *next

cdef struct Header:
    size_t struct_size
    Extension *extensions

cdef struct Version:
    Header header
    int major, minor

cdef struct Api:
    Header header
    Version version
    void *slots[SLOTS]
    # Functions of later versions, beyond the size that the table states: for callers that do not look at it.
    void *later_slots[LATER_SLOTS]

# ---- errors

ctypedef void (*PayloadVisitor)(const char *, size_t, const char *, size_t, void *) noexcept nogil

cdef struct Error:
    ErrorTable *table
    int code
    size_t size
    char *message

cdef struct ErrorTable:
    size_t struct_size, instance_size
    Extension *extensions
    void (*destroy)(Error *) noexcept nogil
    void (*message)(const Error *, const char **, size_t *) noexcept nogil
    int (*get_code)(const Error *) noexcept nogil
    void (*for_each_payload)(const Error *, PayloadVisitor, void *) noexcept nogil

cdef struct ErrorMessageArgs:
    Header header
    const Error *error
    const char *message
    size_t message_size

# ---- argument structures that several functions share

cdef struct HandleArgs:
    Header header
    void *handle

cdef struct StringArgs:
    Header header
    void *handle
    const char *text
    size_t size

cdef struct IntArgs:
    Header header
    void *handle
    int value

cdef struct Int64Args:
    Header header
    void *handle
    int64_t value

cdef struct SizeArgs:
    Header header
    void *handle
    size_t value

cdef struct BoolArgs:
    Header header
    void *handle
    char value

cdef struct PointerArgs:
    Header header
    void *handle, *value

cdef struct ListArgs:
    Header header
    void *handle
    const void *items
    size_t count

cdef struct CountedListArgs:
    Header header
    void *handle
    size_t count
    const void *items

cdef struct SizedListsArgs:
    Header header
    void *handle
    size_t count
    const void *items
    const size_t *sizes

cdef struct SerializeArgs:
    Header header
    void *handle
    const char *data
    size_t size
    void *holder
    void (*delete)(void *) noexcept nogil

cdef struct LookupArgs:
    Header header
    void *handle
    int id
    void *value

# ---- plugin, events

cdef struct NamedValue:
    Header header
    const char *name
    size_t name_size
    int value_kind
    int64_t value
    size_t value_size

cdef struct PluginAttributesArgs:
    Header header
    const NamedValue *attributes
    size_t count

ctypedef void (*EventCallback)(Error *, void *) noexcept nogil

cdef struct EventOnReadyArgs:
    Header header
    Event *event
    EventCallback callback
    void *user

cdef struct EventSetArgs:
    Header header
    Event *event
    int code
    const char *message
    size_t message_size

# ---- client, devices, memories

cdef struct ClientCreateArgs:
    Header header
    const NamedValue *options
    size_t options_count
    void *get_callback, *get_user, *put_callback, *put_user
    Client *client

cdef struct ProgramText:
    Header header
    char *code
    size_t code_size
    const char *format
    size_t format_size

cdef struct ClientCompileArgs:
    Header header
    Client *client
    const ProgramText *program
    const char *options
    size_t options_size
    Executable *executable

cdef struct ClientLoadArgs:
    Header header
    Client *client
    Executable *executable
    const char *options
    size_t options_size
    Executable *loaded

cdef struct CompileArgs:
    Header header
    const Client *topology
    const ProgramText *program
    const char *options
    size_t options_size
    Client *client
    Executable *executable

cdef struct DeviceAssignmentArgs:
    Header header
    Client *client
    int replicas, partitions
    size_t size
    int *assignment

cdef struct GetAttributesArgs:
    Header header
    void *handle
    const NamedValue *attributes
    size_t count
    void *holder
    void (*delete)(void *) noexcept nogil

cdef struct MemoryStatsArgs:
    Header header
    Device *device
    int64_t bytes_in_use, peak_bytes_in_use
    char has_peak_bytes_in_use
    int64_t allocations
    char has_allocations
    int64_t largest_allocation
    char has_largest_allocation
    int64_t bytes_limit
    char has_bytes_limit
    int64_t bytes_reserved
    char has_bytes_reserved
    int64_t peak_bytes_reserved
    char has_peak_bytes_reserved
    int64_t bytes_reservable_limit
    char has_bytes_reservable_limit
    int64_t largest_free_block
    char has_largest_free_block
    int64_t pool_bytes
    char has_pool_bytes
    int64_t peak_pool_bytes
    char has_peak_pool_bytes

cdef struct MemoryTable:
    Header header
    size_t instance_size
    void *(*get_user_data)(Memory *, const void *) noexcept nogil
    void (*set_user_data)(Memory *, const void *, void *, void (*)(void *) noexcept nogil) noexcept nogil

# ---- buffers

cdef struct TiledLayout:
    Header header
    const int64_t *minor_to_major
    size_t minor_to_major_size
    const int64_t *tile_dims
    const size_t *tile_dim_sizes
    size_t tiles

cdef struct StridedLayout:
    Header header
    const int64_t *byte_strides
    size_t count

cdef union AnyLayout:
    TiledLayout tiled
    StridedLayout strided

cdef struct Layout:
    Header header
    AnyLayout value
    int layout_type

cdef struct BufferLayoutArgs:
    Header header
    Buffer *buffer
    Layout layout

cdef struct FromHostArgs:
    Header header
    Client *client
    const void *data
    int element_type
    const int64_t *dims
    size_t rank
    const int64_t *byte_strides
    size_t byte_strides_count
    int semantics
    Device *device
    Memory *memory
    Layout *layout
    Event *done
    Buffer *buffer

cdef struct ViewArgs:
    Header header
    Client *client
    void *data
    const int64_t *dims
    size_t rank
    int element_type
    Layout *layout
    Device *device
    void (*on_delete)(void *, void *) noexcept nogil
    void *on_delete_user
    intptr_t stream
    Buffer *buffer
    Memory *memory

cdef struct ErrorBufferArgs:
    Header header
    Client *client
    int code
    const char *message
    size_t message_size
    const int64_t *dims
    size_t rank
    int element_type
    Layout *layout
    Memory *memory
    Buffer *buffer

cdef struct UninitializedBufferArgs:
    Header header
    Client *client
    const int64_t *dims
    size_t rank
    int element_type
    Layout *layout
    Device *device
    Memory *memory
    Buffer *buffer

cdef struct ToHostArgs:
    Header header
    Buffer *buffer
    Layout *layout
    void *destination
    size_t size
    Event *event

cdef struct CopyRawArgs:
    Header header
    Buffer *buffer
    void *destination
    int64_t offset, size
    Event *event

cdef struct CopyArgs:
    Header header
    Buffer *buffer
    void *target
    Buffer *copy

cdef struct BitcastArgs:
    Header header
    Buffer *buffer
    int element_type
    const int64_t *dims
    size_t rank
    Layout *layout
    Buffer *result

# ---- executables

cdef struct LogicalDevice:
    int replica, partition

cdef struct ExecuteOptions:
    Header header
    void *send_callbacks, *recv_callbacks
    size_t send_count, recv_count
    int launch_id
    const int64_t *non_donated
    size_t non_donated_count

cdef struct ExecuteArgs:
    Header header
    Executable *executable
    ExecuteOptions *options
    Buffer ***arguments
    size_t devices, arguments_count
    Buffer ***results
    Event **complete
    Device *device

cdef struct OptimizedProgramArgs:
    Header header
    Executable *executable
    ProgramText *program

cdef struct CompiledMemoryArgs:
    Header header
    Executable *executable
    int64_t code, arguments, results, aliased, temporaries, host_code, host_arguments, host_results
    int64_t host_aliased, host_temporaries, peak, total, total_allocated, indefinite, peak_unpadded

cdef struct DeserializeArgs:
    Header header
    Client *client
    const char *data
    size_t size
    Executable *executable
    const char *options
    size_t options_size

# ---- topologies

cdef struct TopologyCreateArgs:
    Header header
    const char *name
    size_t name_size
    const NamedValue *options
    size_t options_count
    Client *topology

cdef struct TopologyDeserializeArgs:
    Header header
    const char *data
    size_t size
    Client *topology

# ---- extensions

cdef struct LayoutsExtension:
    Extension base
    void *functions[7]

cdef struct DefaultLayoutArgs:
    Header header
    void *handle
    int element_type
    const int64_t *dims
    size_t rank
    void *layout

cdef struct ShardingsExtension:
    Extension base
    void *functions[2]

# ---- the order of the functions in the table

cdef enum Slot:
    SLOT_Error_Destroy, SLOT_Error_Message, SLOT_Error_GetCode
    SLOT_Plugin_Initialize, SLOT_Plugin_Attributes
    SLOT_Event_Destroy, SLOT_Event_IsReady, SLOT_Event_Error, SLOT_Event_Await, SLOT_Event_OnReady
    SLOT_Client_Create, SLOT_Client_Destroy, SLOT_Client_PlatformName, SLOT_Client_ProcessIndex
    SLOT_Client_PlatformVersion, SLOT_Client_Devices, SLOT_Client_AddressableDevices, SLOT_Client_LookupDevice
    SLOT_Client_LookupAddressableDevice, SLOT_Client_AddressableMemories, SLOT_Client_Compile
    SLOT_Client_DefaultDeviceAssignment, SLOT_Client_BufferFromHostBuffer
    SLOT_DeviceDescription_Id, SLOT_DeviceDescription_ProcessIndex, SLOT_DeviceDescription_Attributes
    SLOT_DeviceDescription_Kind, SLOT_DeviceDescription_DebugString, SLOT_DeviceDescription_ToString
    SLOT_Device_GetDescription, SLOT_Device_IsAddressable, SLOT_Device_LocalHardwareId
    SLOT_Device_AddressableMemories, SLOT_Device_DefaultMemory, SLOT_Device_MemoryStats
    SLOT_Memory_Id, SLOT_Memory_Kind, SLOT_Memory_DebugString, SLOT_Memory_ToString
    SLOT_Memory_AddressableByDevices
    SLOT_Executable_Destroy, SLOT_Executable_Name, SLOT_Executable_NumReplicas, SLOT_Executable_NumPartitions
    SLOT_Executable_NumOutputs, SLOT_Executable_SizeOfGeneratedCodeInBytes, SLOT_Executable_GetCostAnalysis
    SLOT_Executable_OutputMemoryKinds, SLOT_Executable_OptimizedProgram, SLOT_Executable_Serialize
    SLOT_LoadedExecutable_Destroy, SLOT_LoadedExecutable_GetExecutable
    SLOT_LoadedExecutable_AddressableDevices, SLOT_LoadedExecutable_Delete, SLOT_LoadedExecutable_IsDeleted
    SLOT_LoadedExecutable_Execute
    SLOT_Executable_DeserializeAndLoad
    SLOT_LoadedExecutable_Fingerprint
    SLOT_Buffer_Destroy, SLOT_Buffer_ElementType, SLOT_Buffer_Dimensions, SLOT_Buffer_UnpaddedDimensions
    SLOT_Buffer_DynamicDimensionIndices, SLOT_Buffer_GetMemoryLayout, SLOT_Buffer_OnDeviceSizeInBytes
    SLOT_Buffer_Device, SLOT_Buffer_Memory, SLOT_Buffer_Delete, SLOT_Buffer_IsDeleted
    SLOT_Buffer_CopyToDevice, SLOT_Buffer_ToHostBuffer, SLOT_Buffer_IsOnCpu, SLOT_Buffer_ReadyEvent
    SLOT_Buffer_UnsafePointer, SLOT_Buffer_IncreaseExternalReferenceCount
    SLOT_Buffer_DecreaseExternalReferenceCount, SLOT_Buffer_OpaqueDeviceMemoryDataPointer
    SLOT_CopyToDeviceStream_Destroy, SLOT_CopyToDeviceStream_AddChunk, SLOT_CopyToDeviceStream_TotalBytes
    SLOT_CopyToDeviceStream_GranuleSize, SLOT_CopyToDeviceStream_CurrentBytes
    SLOT_TopologyDescription_Create, SLOT_TopologyDescription_Destroy, SLOT_TopologyDescription_PlatformName
    SLOT_TopologyDescription_PlatformVersion, SLOT_TopologyDescription_GetDeviceDescriptions
    SLOT_TopologyDescription_Serialize, SLOT_TopologyDescription_Attributes
    SLOT_Compile
    SLOT_Executable_OutputElementTypes, SLOT_Executable_OutputDimensions
    SLOT_Buffer_CopyToMemory
    SLOT_Client_CreateViewOfDeviceBuffer
    SLOT_Executable_Fingerprint
    SLOT_Client_TopologyDescription
    SLOT_Executable_GetCompiledMemoryStats
    SLOT_Memory_Kind_Id
    SLOT_ExecuteContext_Create, SLOT_ExecuteContext_Destroy
    SLOT_Buffer_CopyRawToHost
    SLOT_AsyncHostToDeviceTransferManager_Destroy, SLOT_AsyncHostToDeviceTransferManager_TransferData
    SLOT_Client_CreateBuffersForAsyncHostToDevice
    SLOT_AsyncHostToDeviceTransferManager_RetrieveBuffer, SLOT_AsyncHostToDeviceTransferManager_Device
    SLOT_AsyncHostToDeviceTransferManager_BufferCount, SLOT_AsyncHostToDeviceTransferManager_BufferSize
    SLOT_AsyncHostToDeviceTransferManager_SetBufferError, SLOT_AsyncHostToDeviceTransferManager_AddMetadata
    SLOT_Client_DmaMap, SLOT_Client_DmaUnmap, SLOT_Client_CreateUninitializedBuffer
    SLOT_Client_UpdateGlobalProcessInfo
    SLOT_TopologyDescription_Deserialize
    SLOT_Client_CreateAliasBuffer, SLOT_Client_FulfillAliasBuffer
    SLOT_LoadedExecutable_GetDeviceAssignment
    SLOT_Client_CreateErrorBuffer
    SLOT_AsyncHostToDeviceTransferManager_TransferLiteral
    SLOT_Buffer_CopyRawToHostFuture
    SLOT_Device_PoisonExecution, SLOT_Device_CreateAsyncTrackingEvent
    SLOT_AsyncTrackingEvent_Destroy
    SLOT_Executable_GetCompileOptions
    SLOT_Buffer_DonateWithControlDependency
    SLOT_Event_Create, SLOT_Event_Set
    SLOT_Device_GetAttributes
    SLOT_Client_Load
    SLOT_LoadedExecutable_AddressableDeviceLogicalIds
    SLOT_Buffer_Bitcast
    SLOT_Error_ForEachPayload
    SLOT_TopologyDescription_Fingerprint
    SLOT_Executable_ParameterMemoryKinds
    SLOT_Device_ClearMemoryStats
    SLOT_TopologyDescription_MakeCanonicalShapeForMemorySpace, SLOT_TopologyDescription_GetMemorySpaceKindIds
