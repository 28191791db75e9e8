#include "sim/io/file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <streambuf>
#include <utility>
#include <vector>

#include "sim/error.hpp"

namespace pipeloom::io {
namespace {

constexpr std::size_t kBlock = std::size_t{1} << 16;

/// An open file descriptor, closed at the end.
class Descriptor {
 public:
  explicit Descriptor(int fd, bool owned = true) : fd_(fd), owned_(owned) {}
  ~Descriptor() { close(); }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  [[nodiscard]] int get() const { return fd_; }
  /// False if the last writes failed, which some file systems report only here.
  bool close() {
    const int fd = std::exchange(fd_, -1);
    return fd < 0 || !owned_ || ::close(fd) == 0;
  }

 private:
  int fd_;
  bool owned_;
};

/// A stream buffer over a descriptor that throws SystemError with the system's reason.
class DescriptorBuffer final : public std::streambuf {
 public:
  DescriptorBuffer(int fd, std::string path) : fd_(fd), path_(std::move(path)), buffer_(kBlock) {
    setp(buffer_.data(), buffer_.data() + buffer_.size());
  }
  void finish() { drain(); }

 protected:
  int_type overflow(int_type c) override {
    drain();
    if (c != traits_type::eof()) sputc(traits_type::to_char_type(c));
    return traits_type::not_eof(c);
  }
  std::streamsize xsputn(const char* text, std::streamsize size) override {
    if (size <= epptr() - pptr()) {
      std::memcpy(pptr(), text, static_cast<std::size_t>(size));
      pbump(static_cast<int>(size));
    } else {
      drain();
      write_all(text, static_cast<std::size_t>(size));
    }
    return size;
  }
  int sync() override {
    drain();
    return 0;
  }

 private:
  void drain() {
    const auto size = static_cast<std::size_t>(pptr() - pbase());
    setp(buffer_.data(), buffer_.data() + buffer_.size());
    write_all(buffer_.data(), size);
  }
  void write_all(const char* text, std::size_t size) const {
    while (size > 0) {
      const ssize_t written = ::write(fd_, text, size);
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) throw SystemError::cannot_write(path_, std::strerror(errno));
      text += written;
      size -= static_cast<std::size_t>(written);
    }
  }

  int fd_;
  std::string path_;
  std::vector<char> buffer_;
};

void write_to(int fd, const std::string& path, const std::function<void(std::ostream&)>& write) {
  DescriptorBuffer buffer(fd, path);
  std::ostream stream(&buffer);
  // An exception of the buffer must reach the caller with its message.
  stream.exceptions(std::ios::badbit);
  write(stream);
  buffer.finish();
}

/// Removes a half-written file unless told that it has its final name.
class Temporary {
 public:
  explicit Temporary(std::string path) : path_(std::move(path)) {}
  ~Temporary() {
    if (!path_.empty()) ::unlink(path_.c_str());
  }
  Temporary(const Temporary&) = delete;
  Temporary& operator=(const Temporary&) = delete;
  void keep() { path_.clear(); }

 private:
  std::string path_;
};

void write_atomically(const std::string& path, mode_t mode, Overwrite overwrite,
                      const std::function<void(std::ostream&)>& write) {
  std::string name = path + ".XXXXXX";
  Descriptor file(::mkstemp(name.data()));
  if (file.get() < 0) throw SystemError::cannot_write(path, std::strerror(errno));
  Temporary temporary(name);
  ::fchmod(file.get(), mode);
  write_to(file.get(), path, write);
  if (!file.close()) throw SystemError::cannot_write(path, std::strerror(errno));
  // link() refuses an existing name, so that two writers cannot both believe that the file is theirs.
  if (overwrite == Overwrite::No && ::link(name.c_str(), path.c_str()) == 0) return;
  if (overwrite == Overwrite::No && errno == EEXIST) throw InputError::exists(path);
  if (::rename(name.c_str(), path.c_str()) != 0) throw SystemError::cannot_write(path, std::strerror(errno));
  temporary.keep();
}

mode_t default_mode() {
  const mode_t mask = ::umask(0);
  ::umask(mask);
  return 0666 & ~mask;
}

void require_at_most(std::size_t limit, std::size_t size, const std::string& path) {
  if (size > limit)
    throw InputError(Where{path}, fmt::format("the file holds more than {} bytes, the most that is read; "
                                              "give a smaller one",
                                              limit));
}

}  // namespace

std::string read_file(const std::string& path, std::size_t limit) {
  const Descriptor file =
      path == "-" ? Descriptor(STDIN_FILENO, false) : Descriptor(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.get() < 0) throw InputError::cannot_read(path, std::strerror(errno));
  std::string text;
  struct stat info {};
  if (::fstat(file.get(), &info) == 0 && S_ISREG(info.st_mode)) {
    const auto size = static_cast<std::size_t>(info.st_size);
    require_at_most(limit, size, path);
    // One block more: the read that finds the end needs room as well.
    text.reserve(size + kBlock);
  }
  for (;;) {
    const std::size_t used = text.size();
    text.resize(used + kBlock);
    const ssize_t got = ::read(file.get(), text.data() + used, kBlock);
    text.resize(used + static_cast<std::size_t>(got > 0 ? got : 0));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw InputError::cannot_read(path, std::strerror(errno));
    if (got == 0) return text;
    require_at_most(limit, text.size(), path);
  }
}

void write_file(const std::string& path, Overwrite overwrite,
                const std::function<void(std::ostream&)>& write) {
  if (path == "-") {
    std::cout.flush();
    write_to(STDOUT_FILENO, "standard output", write);
    return;
  }
  struct stat info {};
  const bool exists = ::stat(path.c_str(), &info) == 0;
  if (exists && !S_ISREG(info.st_mode)) {
    const Descriptor device(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
    if (device.get() < 0) throw SystemError::cannot_write(path, std::strerror(errno));
    write_to(device.get(), path, write);
    return;
  }
  if (exists && overwrite == Overwrite::No) throw InputError::exists(path);
  // Behind a symbolic link the file is replaced, not the link.
  const std::string target = exists ? std::filesystem::canonical(path).string() : path;
  write_atomically(target, exists ? info.st_mode & 07777 : default_mode(), overwrite, write);
}

std::string relative_to(std::string_view base, std::string_view path) {
  const std::filesystem::path own(path);
  if (own.is_absolute()) return std::string(path);
  return (std::filesystem::path(base).parent_path() / own).string();
}

}  // namespace pipeloom::io
