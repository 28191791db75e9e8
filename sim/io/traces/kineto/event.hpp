#pragma once

// The members of one event of a Chrome trace that the reader asks for, as text: most of the time of reading a trace is spent here.

#include <optional>
#include <string_view>

#include "sim/io/json/json_value.hpp"

namespace pipeloom::io {

/// A number as written, a string's content, "" where the event has no such member.
struct KinetoEvent {
  std::string_view phase;
  std::string_view category;
  std::string_view name;
  std::string_view process;
  std::string_view thread;
  std::string_view time;
  std::string_view length;
  /// Of "args".
  std::string_view external_id;
  std::string_view called;  ///< "name": what a process or thread is called
};

/// Reads events one after the other.
class KinetoEvents {
 public:
  /// The event of this JSON text; nullopt if it is damaged. Views hold until the next call, and as long as `text`. Text that is not plain (escapes, bytes beyond
  /// ASCII, a member twice) is left to read_json().
  [[nodiscard]] std::optional<KinetoEvent> read(std::string_view text);

 private:
  std::optional<Value> tree_;
};

}  // namespace pipeloom::io
