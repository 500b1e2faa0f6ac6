# Operations and values as their classes make them, without a call of Python code. The including module imports
# Operation and Value.

from cpython.object cimport Py_TYPE, PyTypeObject

cdef extern from "Python.h":
    object PyType_GenericAlloc(PyTypeObject *cls, size_t items)

# The descriptors of the fields, which are slots.
cdef object VALUE_TYPE = vars(Value)["type"]
cdef object VALUE_OWNER = vars(Value)["owner"]
cdef object VALUE_INDEX = vars(Value)["index"]
cdef object OPERATION_NAME = vars(Operation)["name"]
cdef object OPERATION_OPERANDS = vars(Operation)["operands"]
cdef object OPERATION_RESULTS = vars(Operation)["results"]
cdef object OPERATION_ATTRIBUTES = vars(Operation)["attributes"]
cdef object OPERATION_REGIONS = vars(Operation)["regions"]
cdef object OPERATION_LOCATION = vars(Operation)["location"]


cdef inline object new_instance(object cls):
    """An instance of a class written in Python whose fields are not set yet."""
    return PyType_GenericAlloc(<PyTypeObject *>cls, 0)


cdef inline int set_field(object descriptor, object instance, object value) except -1:
    """Set a field that is a slot, also where its class forbids to assign to it."""
    return Py_TYPE(descriptor).tp_descr_set(descriptor, instance, value)


cdef inline object new_value(object type, object owner, object index):
    """``Value(type, owner, index)``."""
    cdef object value = new_instance(Value)
    set_field(VALUE_TYPE, value, type)
    set_field(VALUE_OWNER, value, owner)
    set_field(VALUE_INDEX, value, index)
    return value


cdef object new_operation(str name, tuple operands, tuple result_types, object attributes, object location):
    """``Operation(name, operands, result_types, attributes, (), location)``, whose attributes are shared."""
    cdef object operation = new_instance(Operation)
    cdef Py_ssize_t count = len(result_types)
    cdef tuple results
    if count == 1:
        results = (new_value(result_types[0], operation, 0),)
    elif count == 0:
        results = ()
    else:
        results = tuple([new_value(result_types[index], operation, index) for index in range(count)])
    set_field(OPERATION_NAME, operation, name)
    set_field(OPERATION_OPERANDS, operation, operands)
    set_field(OPERATION_RESULTS, operation, results)
    set_field(OPERATION_ATTRIBUTES, operation, attributes)
    set_field(OPERATION_REGIONS, operation, ())
    set_field(OPERATION_LOCATION, operation, location)
    return operation
