#pragma once

// Files below a folder, by the path of a request. Nothing outside the folder is found: the file that was opened is asked where it is.

#include <cstddef>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace pipeloom::cli::serve {

/// A regular file that is open to be read.
class OpenFile {
 public:
  /// Takes the descriptor over.
  OpenFile(int descriptor, std::size_t size) : descriptor_(descriptor), size_(size) {}
  ~OpenFile();
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;

  [[nodiscard]] std::size_t size() const { return size_; }
  /// Fills `room` from byte `offset` on; how much of it, 0 at the end or if the disk fails. Threads may ask at the same time.
  [[nodiscard]] std::size_t read(std::size_t offset, std::span<char> room) const;

 private:
  int descriptor_;
  std::size_t size_;
};

class Folder {
 public:
  /// REQUIRES: `path` is a folder.
  explicit Folder(const std::filesystem::path& path);

  /// The file at `path`, "pages/run.json" without a slash in front, its escapes decoded. Null if there is none, if it is no regular file, and if
  /// it is not below the folder: by "..", an absolute part or a symbolic link.
  [[nodiscard]] std::shared_ptr<const OpenFile> open(std::string_view path) const;

 private:
  std::string root_;  ///< without links in it, ends in '/'
};

/// "application/wasm" for "pipeloom.wasm"; "application/octet-stream" for endings that no row names.
[[nodiscard]] std::string_view media_type(std::string_view path);

/// True if a Host header names this machine's loopback, with or without a port: a page of another name that was made to lead here has its own.
[[nodiscard]] bool is_loopback_host(std::string_view host);

}  // namespace pipeloom::cli::serve
