#pragma once

// Errors that say what is wrong with an input but not where it came from, such as those of the engine, get the file's name on their way up.

#include <string>
#include <utility>

namespace pipeloom::study {

/// Throws the exception that is being handled again: an InputError or ScheduleError without a place with `file` as its place, of the same
/// type; any other as it is. REQUIRES: called in a handler.
[[noreturn]] void rethrow_at(const std::string& file);

/// Returns work(); rethrows its errors by rethrow_at(). `file` may be "", which names nothing.
template <class Work>
decltype(auto) at_place(const std::string& file, Work&& work) {
  try {
    return std::forward<Work>(work)();
  } catch (...) {
    rethrow_at(file);
  }
}

}  // namespace pipeloom::study
