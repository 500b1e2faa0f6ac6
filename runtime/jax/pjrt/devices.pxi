# Clients, devices and memories. A client's structures live as long as the client, and all it says of itself is
# written when it is made. A topology is a client without devices that run anything.

cdef enum:
    MEMORY_KIND_COUNT = 3
    TEXT_BYTES = 64

cdef const char *PLATFORM_NAME = b"nimblehlo"
cdef const char *DEVICE_KIND = b"NimbleHLO"
cdef list _MEMORY_KIND_NAMES = [name.encode() for name in MEMORY_KINDS]
cdef const char *MEMORY_KIND_NAMES[MEMORY_KIND_COUNT]
"""Pointers to the texts of the list."""

cdef struct UserData:
    const void *key
    void *data
    void (*delete)(void *) noexcept nogil
    UserData *next

cdef struct Memory:
    MemoryTable *table
    Device *device
    int id, kind
    UserData *user_data
    char text[TEXT_BYTES]

cdef struct Device:
    Client *client
    int id
    Memory *memories[MEMORY_KIND_COUNT]
    char text[TEXT_BYTES]

cdef struct Client:
    Py_ssize_t device_count
    Device **devices
    Memory **memories
    char version[TEXT_BYTES]

cdef MemoryTable MEMORY_TABLE


cdef void *_get_user_data(Memory *memory, const void *key) noexcept nogil:
    cdef UserData *entry
    cdef void *data = NULL
    take_lock()
    entry = memory.user_data
    while entry != NULL:
        if entry.key == key:
            data = entry.data
            break
        entry = entry.next
    release_lock()
    return data


cdef void _set_user_data(
    Memory *memory, const void *key, void *data, void (*delete)(void *) noexcept nogil
) noexcept nogil:
    cdef UserData *entry
    cdef void *old = NULL
    cdef void (*delete_old)(void *) noexcept nogil
    delete_old = NULL
    take_lock()
    entry = memory.user_data
    while entry != NULL and entry.key != key:
        entry = entry.next
    if entry == NULL:
        entry = <UserData *>calloc(1, sizeof(UserData))
        if entry == NULL:
            abort_for_lack_of_memory()
        entry.key = key
        entry.next = memory.user_data
        memory.user_data = entry
    old, delete_old = entry.data, entry.delete
    entry.data, entry.delete = data, delete
    release_lock()
    if old != NULL and delete_old != NULL:
        delete_old(old)


cdef Client *new_client(int count, const char *version) noexcept nogil:
    """A client with `count` devices."""
    cdef Client *client = <Client *>allocate(sizeof(Client))
    cdef Device *device
    cdef Memory *memory
    cdef int index, kind
    snprintf(client.version, TEXT_BYTES, b"%s", version)
    client.device_count = count
    client.devices = <Device **>allocate(count * sizeof(Device *))
    client.memories = <Memory **>allocate(count * MEMORY_KIND_COUNT * sizeof(Memory *))
    for index in range(count):
        device = <Device *>allocate(sizeof(Device))
        client.devices[index] = device
        device.client = client
        device.id = index
        snprintf(device.text, TEXT_BYTES, b"NimbleHloDevice(id=%d)", index)
        for kind in range(MEMORY_KIND_COUNT):
            memory = <Memory *>allocate(sizeof(Memory))
            device.memories[kind] = memory
            client.memories[index * MEMORY_KIND_COUNT + kind] = memory
            memory.table = &MEMORY_TABLE
            memory.device = device
            memory.id = index * MEMORY_KIND_COUNT + kind
            memory.kind = kind
            snprintf(memory.text, TEXT_BYTES, b"%s memory of NimbleHLO's device %d", MEMORY_KIND_NAMES[kind], index)
    return client


cdef void free_client(Client *client) noexcept nogil:
    cdef Py_ssize_t index
    cdef UserData *entry
    if client == NULL:
        return
    for index in range(client.device_count * MEMORY_KIND_COUNT):
        while client.memories[index].user_data != NULL:
            entry = client.memories[index].user_data
            client.memories[index].user_data = entry.next
            if entry.data != NULL and entry.delete != NULL:
                entry.delete(entry.data)
            free(entry)
        free(client.memories[index])
    for index in range(client.device_count):
        free(client.devices[index])
    free(client.devices)
    free(client.memories)
    free(client)


cdef inline Error *_say(StringArgs *args, const char *text) noexcept nogil:
    """Return a text that lives as long as the object that it describes."""
    args.text = text
    args.size = strlen(text)
    return NULL


cdef Error *client_destroy(HandleArgs *args) noexcept nogil:
    free_client(<Client *>args.handle)
    return NULL


cdef Error *client_platform_name(StringArgs *args) noexcept nogil:
    return _say(args, PLATFORM_NAME)


cdef Error *client_platform_version(StringArgs *args) noexcept nogil:
    return _say(args, (<Client *>args.handle).version)


cdef Error *client_process_index(IntArgs *args) noexcept nogil:
    args.value = 0
    return NULL


cdef Error *client_devices(ListArgs *args) noexcept nogil:
    cdef Client *client = <Client *>args.handle
    args.items = client.devices
    args.count = client.device_count
    return NULL


cdef Error *client_memories(ListArgs *args) noexcept nogil:
    cdef Client *client = <Client *>args.handle
    args.items = client.memories
    args.count = client.device_count * MEMORY_KIND_COUNT
    return NULL


cdef Error *client_lookup_device(LookupArgs *args) noexcept nogil:
    cdef Client *client = <Client *>args.handle
    if not 0 <= args.id < client.device_count:
        return plain_error(CODE_INVALID_ARGUMENT, b"NimbleHLO has no device of this number")
    args.value = client.devices[args.id]
    return NULL


cdef Error *client_default_device_assignment(DeviceAssignmentArgs *args) noexcept nogil:
    cdef int count, index
    count = args.replicas * args.partitions
    if count > args.client.device_count or <size_t>count > args.size:
        return plain_error(CODE_INVALID_ARGUMENT, b"NimbleHLO has fewer devices than replicas times partitions")
    for index in range(count):
        args.assignment[index] = index
    return NULL


cdef Error *client_update_processes(HandleArgs *args) noexcept nogil:
    # There is one process only.
    return NULL


cdef Error *empty_list(ListArgs *args) noexcept nogil:
    """A buffer has no dynamic dimensions, a topology no attributes."""
    args.items = NULL
    args.count = 0
    return NULL


cdef Error *same_handle(PointerArgs *args) noexcept nogil:
    """A device is its own description, a client its own topology."""
    args.value = args.handle
    return NULL


cdef Error *device_id(IntArgs *args) noexcept nogil:
    args.value = (<Device *>args.handle).id
    return NULL


cdef Error *device_description_attributes(CountedListArgs *args) noexcept nogil:
    args.items = NULL
    args.count = 0
    return NULL


cdef void _delete_nothing(void *holder) noexcept nogil:
    pass


cdef Error *device_attributes(GetAttributesArgs *args) noexcept nogil:
    args.attributes = NULL
    args.count = 0
    args.holder = NULL
    args.delete = _delete_nothing
    return NULL


cdef Error *device_kind(StringArgs *args) noexcept nogil:
    return _say(args, DEVICE_KIND)


cdef Error *device_text(StringArgs *args) noexcept nogil:
    return _say(args, (<Device *>args.handle).text)


cdef Error *device_is_addressable(BoolArgs *args) noexcept nogil:
    args.value = 1
    return NULL


cdef Error *device_memories(ListArgs *args) noexcept nogil:
    args.items = (<Device *>args.handle).memories
    args.count = MEMORY_KIND_COUNT
    return NULL


cdef Error *device_default_memory(PointerArgs *args) noexcept nogil:
    args.value = (<Device *>args.handle).memories[0]
    return NULL


cdef Error *memory_id(IntArgs *args) noexcept nogil:
    args.value = (<Memory *>args.handle).id
    return NULL


cdef Error *memory_kind(StringArgs *args) noexcept nogil:
    return _say(args, MEMORY_KIND_NAMES[(<Memory *>args.handle).kind])


cdef Error *memory_kind_id(IntArgs *args) noexcept nogil:
    args.value = (<Memory *>args.handle).kind
    return NULL


cdef Error *memory_text(StringArgs *args) noexcept nogil:
    return _say(args, (<Memory *>args.handle).text)


cdef Error *memory_devices(ListArgs *args) noexcept nogil:
    args.items = &(<Memory *>args.handle).device
    args.count = 1
    return NULL


cdef void fill_device_slots() except *:
    cdef int kind
    for kind in range(MEMORY_KIND_COUNT):
        MEMORY_KIND_NAMES[kind] = <bytes>_MEMORY_KIND_NAMES[kind]
    MEMORY_TABLE.header.struct_size = sizeof(MemoryTable)
    MEMORY_TABLE.header.extensions = NULL
    MEMORY_TABLE.instance_size = sizeof(MemoryTable *)
    MEMORY_TABLE.get_user_data = _get_user_data
    MEMORY_TABLE.set_user_data = _set_user_data
    offer(SLOT_Client_Destroy, <void *>client_destroy, &(<HandleArgs *>NULL).handle)
    offer(SLOT_Client_PlatformName, <void *>client_platform_name, &(<StringArgs *>NULL).size)
    offer(SLOT_Client_PlatformVersion, <void *>client_platform_version, &(<StringArgs *>NULL).size)
    offer(SLOT_Client_ProcessIndex, <void *>client_process_index, &(<IntArgs *>NULL).value)
    offer(SLOT_Client_Devices, <void *>client_devices, &(<ListArgs *>NULL).count)
    offer(SLOT_Client_AddressableDevices, <void *>client_devices, &(<ListArgs *>NULL).count)
    offer(SLOT_Client_LookupDevice, <void *>client_lookup_device, &(<LookupArgs *>NULL).value)
    offer(SLOT_Client_LookupAddressableDevice, <void *>client_lookup_device, &(<LookupArgs *>NULL).value)
    offer(SLOT_Client_AddressableMemories, <void *>client_memories, &(<ListArgs *>NULL).count)
    offer(SLOT_Client_TopologyDescription, <void *>same_handle, &(<PointerArgs *>NULL).value)
    offer(SLOT_Client_DefaultDeviceAssignment, <void *>client_default_device_assignment, &(<DeviceAssignmentArgs *>NULL).assignment)
    API.slots[<int>SLOT_Client_UpdateGlobalProcessInfo] = <void *>client_update_processes
    offer(SLOT_DeviceDescription_Id, <void *>device_id, &(<IntArgs *>NULL).value)
    offer(SLOT_DeviceDescription_ProcessIndex, <void *>client_process_index, &(<IntArgs *>NULL).value)
    offer(SLOT_DeviceDescription_Attributes, <void *>device_description_attributes, &(<CountedListArgs *>NULL).items)
    offer(SLOT_DeviceDescription_Kind, <void *>device_kind, &(<StringArgs *>NULL).size)
    offer(SLOT_DeviceDescription_DebugString, <void *>device_text, &(<StringArgs *>NULL).size)
    offer(SLOT_DeviceDescription_ToString, <void *>device_text, &(<StringArgs *>NULL).size)
    offer(SLOT_Device_GetDescription, <void *>same_handle, &(<PointerArgs *>NULL).value)
    offer(SLOT_Device_IsAddressable, <void *>device_is_addressable, &(<BoolArgs *>NULL).value)
    offer(SLOT_Device_LocalHardwareId, <void *>device_id, &(<IntArgs *>NULL).value)
    offer(SLOT_Device_AddressableMemories, <void *>device_memories, &(<ListArgs *>NULL).count)
    offer(SLOT_Device_DefaultMemory, <void *>device_default_memory, &(<PointerArgs *>NULL).value)
    offer(SLOT_Device_GetAttributes, <void *>device_attributes, &(<GetAttributesArgs *>NULL).delete)
    offer(SLOT_Memory_Id, <void *>memory_id, &(<IntArgs *>NULL).value)
    offer(SLOT_Memory_Kind, <void *>memory_kind, &(<StringArgs *>NULL).size)
    offer(SLOT_Memory_Kind_Id, <void *>memory_kind_id, &(<IntArgs *>NULL).value)
    offer(SLOT_Memory_DebugString, <void *>memory_text, &(<StringArgs *>NULL).size)
    offer(SLOT_Memory_ToString, <void *>memory_text, &(<StringArgs *>NULL).size)
    offer(SLOT_Memory_AddressableByDevices, <void *>memory_devices, &(<ListArgs *>NULL).count)
