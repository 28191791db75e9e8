// The functions that JavaScript calls (web/pipeloom.mjs): UTF-8 in, UTF-8 out.

#include <cstddef>
#include <string>

#include "web/core/core.hpp"

namespace {

/// Of the last call.
pipeloom::web::Answer last;

}  // namespace

extern "C" {

/// Answers, and keeps the answer until the next call. Returns its code. All pointers are to texts that end in a zero, but `text`, which may hold
/// zeros.
int pl_call(const char* function, const char* name, const char* text, std::size_t text_size,
            const char* options) {
  last = pipeloom::web::answer(function, {name, {text, text_size}, options});
  return static_cast<int>(last.code);
}

const char* pl_text() {
  return last.text.data();
}
std::size_t pl_text_size() {
  return last.text.size();
}
const char* pl_warnings() {
  return last.warnings.data();
}
std::size_t pl_warnings_size() {
  return last.warnings.size();
}

/// Gives the memory of the last answer back.
void pl_clear() {
  last = {};
}

}  // extern "C"
