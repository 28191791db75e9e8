#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include <exception>

#include <pipeloom/error.hpp>
#include "python/bindings/bindings.hpp"

namespace nb = nanobind;

namespace pipeloom::python {
namespace {

void raise(const char* name, const Error& error) {
  const nb::object type = nb::module_::import_("pipeloom._errors").attr(name);
  const Where& where = error.where();
  const nb::object value =
      type(error.what(), where.file, where.line, where.column, static_cast<int>(error.exit_code()));
  PyErr_SetObject(type.ptr(), value.ptr());
}

void translate(const std::exception_ptr& thrown, void* /*payload*/) {
  try {
    std::rethrow_exception(thrown);
  } catch (const HangError& error) {
    raise("HangError", error);
  } catch (const ScheduleError& error) {
    raise("ScheduleError", error);
  } catch (const TooLargeError& error) {
    raise("TooLargeError", error);
  } catch (const InputError& error) {
    raise("InputError", error);
  } catch (const SystemError& error) {
    raise("DeviceError", error);
  } catch (const Error& error) {
    raise("Error", error);
  }
}

}  // namespace

void bind_errors() {
  nb::register_exception_translator(translate);
}

bool signal_raised() {
  const nb::gil_scoped_acquire gil;
  return PyErr_Occurred() != nullptr || PyErr_CheckSignals() != 0;
}

}  // namespace pipeloom::python
