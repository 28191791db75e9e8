#pragma once

// The set-up of every program before anything else, and the clean-up when a signal ends it.

#include <string>

namespace pipeloom::io {

/// Opens descriptors 0 to 2 where the parent process left them closed: on the null device and for the other direction, so that no
/// file of ours gets their numbers and what should have gone there is an error as before. Ignores SIGXFSZ: a file that may not grow is an
/// error of the write. Has SIGINT, SIGTERM and SIGHUP remove half-written files before they end the program; signals that the parent process
/// ignores (nohup) stay ignored. REQUIRES: called before any thread and any file of ours.
void prepare_process();

/// A file under a temporary name, removed unless it gets its final one: at the end of its life, and when a signal ends the program.
class Temporary {
 public:
  /// Makes an empty file at `path` and six letters more. Throws SystemError naming `path`.
  explicit Temporary(const std::string& path);
  ~Temporary();
  Temporary(const Temporary&) = delete;
  Temporary& operator=(const Temporary&) = delete;

  [[nodiscard]] const std::string& name() const { return name_; }
  /// Open for writing; the caller closes it.
  [[nodiscard]] int descriptor() const { return descriptor_; }
  /// Keeps the file, which has its final name.
  void keep();

 private:
  std::string name_;
  int descriptor_ = -1;
  bool kept_ = false;
};

}  // namespace pipeloom::io
