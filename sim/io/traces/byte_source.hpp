#pragma once

// The bytes of a file, block by block; what gzip has packed comes out unpacked.

#include <cstddef>
#include <memory>
#include <span>
#include <string>

namespace pipeloom::io {

class ByteSource {
 public:
  /// Throws InputError if the file cannot be read.
  explicit ByteSource(const std::string& path);
  ~ByteSource();
  ByteSource(const ByteSource&) = delete;
  ByteSource& operator=(const ByteSource&) = delete;

  /// Fills `room` from its beginning; how much of it, 0 at the end. Throws InputError if the disk fails or what gzip has packed is damaged.
  [[nodiscard]] std::size_t read(std::span<char> room);
  /// True if gzip has packed them.
  [[nodiscard]] bool is_packed() const;
  /// True if packed bytes ended before their time.
  [[nodiscard]] bool is_cut() const { return is_cut_; }
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  struct File;
  std::string path_;
  std::unique_ptr<File> file_;
  bool is_cut_ = false;
};

/// True if gzip has packed the file.
[[nodiscard]] bool is_packed(const std::string& path);

/// The first bytes of a file, unpacked, `count` at most.
[[nodiscard]] std::string first_bytes(const std::string& path, std::size_t count);

}  // namespace pipeloom::io
