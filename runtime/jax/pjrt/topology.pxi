# PJRT_TopologyDescription: a client without buffers and executables, which describes devices. Its serialized form is
# its number of devices as text.

cdef int MEMORY_KIND_IDS[MEMORY_KIND_COUNT]


cdef Error *_topology_of_text(const char *text, size_t size, Client **topology) noexcept with gil:
    """The topology of a serialized form; of one device if that is empty."""
    cdef bytes version
    try:
        version = platform_version().encode()
        topology[0] = new_client(topology_size(text[:size]), version)
    except BaseException as exception:
        return error_of(exception)
    return NULL


cdef Error *topology_create(TopologyCreateArgs *args) noexcept nogil:
    return _topology_of_text(args.name, args.name_size, &args.topology)


cdef Error *topology_deserialize(TopologyDeserializeArgs *args) noexcept nogil:
    return _topology_of_text(args.data, args.size, &args.topology)


cdef Error *topology_serialize(SerializeArgs *args) noexcept nogil:
    cdef char *text
    text = <char *>allocate(TEXT_BYTES)
    args.size = snprintf(text, TEXT_BYTES, b"%d", <int>(<Client *>args.handle).device_count)
    args.data = text
    args.holder = text
    args.delete = free_holder
    return NULL


cdef Error *topology_fingerprint(Int64Args *args) noexcept nogil:
    args.value = (<Client *>args.handle).device_count
    return NULL


cdef Error *topology_memory_kinds(ListArgs *args) noexcept nogil:
    args.items = MEMORY_KIND_IDS
    args.count = MEMORY_KIND_COUNT
    return NULL


cdef void fill_topology_slots() noexcept:
    cdef int kind
    for kind in range(MEMORY_KIND_COUNT):
        MEMORY_KIND_IDS[kind] = kind
    offer_python(SLOT_TopologyDescription_Create, <void *>topology_create, &(<TopologyCreateArgs *>NULL).topology)
    offer(SLOT_TopologyDescription_Destroy, <void *>client_destroy, &(<HandleArgs *>NULL).handle)
    offer(SLOT_TopologyDescription_PlatformName, <void *>client_platform_name, &(<StringArgs *>NULL).size)
    offer(SLOT_TopologyDescription_PlatformVersion, <void *>client_platform_version, &(<StringArgs *>NULL).size)
    offer(SLOT_TopologyDescription_GetDeviceDescriptions, <void *>client_devices, &(<ListArgs *>NULL).count)
    offer(SLOT_TopologyDescription_Serialize, <void *>topology_serialize, &(<SerializeArgs *>NULL).delete)
    offer_python(SLOT_TopologyDescription_Deserialize, <void *>topology_deserialize, &(<TopologyDeserializeArgs *>NULL).topology)
    offer(SLOT_TopologyDescription_Attributes, <void *>empty_list, &(<ListArgs *>NULL).count)
    offer(SLOT_TopologyDescription_Fingerprint, <void *>topology_fingerprint, &(<Int64Args *>NULL).value)
    offer(SLOT_TopologyDescription_GetMemorySpaceKindIds, <void *>topology_memory_kinds, &(<ListArgs *>NULL).count)
