# PJRT_TopologyDescription: a client without buffers and executables, which describes devices. Its serialized form is
# its number of devices as text.

cdef enum:
    MAX_TOPOLOGY_DEVICES = 1024

cdef int MEMORY_KIND_IDS[MEMORY_KINDS]


cdef Error *_create_topology(int count, Client **topology) noexcept with gil:
    cdef bytes version
    try:
        version = platform_version().encode()
    except BaseException as exception:
        return error_of(exception)
    topology[0] = new_client(count, version)
    return NULL


cdef Error *_make_topology(int count, Client **topology) noexcept nogil:
    if not begin_call():
        return shutting_down()
    return _create_topology(count, topology)


cdef Error *topology_create(TopologyCreateArgs *args) noexcept nogil:
    if lacks(args, &args.topology):
        return short_structure()
    if args.name_size:
        return topology_of_text(args.name, args.name_size, &args.topology)
    return _make_topology(1, &args.topology)


cdef Error *topology_of_text(const char *text, size_t size, Client **topology) noexcept nogil:
    """The topology of a number of devices."""
    cdef int count = 0
    cdef size_t index
    for index in range(size):
        if not 48 <= text[index] <= 57 or count > MAX_TOPOLOGY_DEVICES:
            count = 0
            break
        count = 10 * count + text[index] - 48
    if not 1 <= count <= MAX_TOPOLOGY_DEVICES:
        return plain_error(CODE_INVALID_ARGUMENT, b"a topology of NimbleHLO is a number of devices from 1 to 1024")
    return _make_topology(count, topology)


cdef Error *topology_deserialize(TopologyDeserializeArgs *args) noexcept nogil:
    if lacks(args, &args.topology):
        return short_structure()
    return topology_of_text(args.data, args.size, &args.topology)


cdef Error *topology_serialize(SerializeArgs *args) noexcept nogil:
    cdef char *text
    if lacks(args, &args.delete):
        return short_structure()
    text = <char *>allocate(TEXT_BYTES)
    args.size = snprintf(text, TEXT_BYTES, b"%d", <int>(<Client *>args.handle).device_count)
    args.data = text
    args.holder = text
    args.delete = free_holder
    return NULL


cdef Error *topology_attributes(ListArgs *args) noexcept nogil:
    if lacks(args, &args.count):
        return short_structure()
    args.items = NULL
    args.count = 0
    return NULL


cdef Error *topology_fingerprint(Int64Args *args) noexcept nogil:
    if lacks(args, &args.value):
        return short_structure()
    args.value = (<Client *>args.handle).device_count
    return NULL


cdef Error *topology_memory_kinds(ListArgs *args) noexcept nogil:
    if lacks(args, &args.count):
        return short_structure()
    args.items = MEMORY_KIND_IDS
    args.count = MEMORY_KINDS
    return NULL


cdef void fill_topology_slots(Api *api) noexcept:
    cdef int kind
    for kind in range(MEMORY_KINDS):
        MEMORY_KIND_IDS[kind] = kind
    api.slots[<int>SLOT_TopologyDescription_Create] = <void *>topology_create
    api.slots[<int>SLOT_TopologyDescription_Destroy] = <void *>client_destroy
    api.slots[<int>SLOT_TopologyDescription_PlatformName] = <void *>client_platform_name
    api.slots[<int>SLOT_TopologyDescription_PlatformVersion] = <void *>client_platform_version
    api.slots[<int>SLOT_TopologyDescription_GetDeviceDescriptions] = <void *>client_devices
    api.slots[<int>SLOT_TopologyDescription_Serialize] = <void *>topology_serialize
    api.slots[<int>SLOT_TopologyDescription_Deserialize] = <void *>topology_deserialize
    api.slots[<int>SLOT_TopologyDescription_Attributes] = <void *>topology_attributes
    api.slots[<int>SLOT_TopologyDescription_Fingerprint] = <void *>topology_fingerprint
    api.slots[<int>SLOT_TopologyDescription_GetMemorySpaceKindIds] = <void *>topology_memory_kinds
