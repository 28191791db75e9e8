#pragma once

// A feature's share of the session: its state and its work between frames. Session::part<T>() makes it when first asked for, so
// that a feature is in files of its own.

#include <string_view>

#include "sim/io/json/json_writer.hpp"

namespace pipeloom::gui {

struct Session;

class Part {
 public:
  Part() = default;
  Part(const Part&) = delete;
  Part& operator=(const Part&) = delete;
  virtual ~Part() = default;

  /// Once per frame, before drawing. True if something changed that another frame must show.
  virtual bool update(Session&) { return false; }
  /// Cancels its jobs that are under way: the user does not want to wait.
  virtual void stop(Session&) {}
  /// True if nothing is under way other than jobs, such as a wait for a file to be stable.
  [[nodiscard]] virtual bool idle() const { return true; }
  /// It is about to bring the first run, so that no other part need.
  [[nodiscard]] virtual bool brings_run() const { return false; }
  /// Its key in the state dump, "" for none, and the value there: always exactly one value.
  [[nodiscard]] virtual std::string_view state_key() const { return ""; }
  virtual void write_state(const Session&, io::JsonWriter& out) const { out.null(); }
};

}  // namespace pipeloom::gui
