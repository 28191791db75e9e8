#include "cli/mpi/letters.hpp"

#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <system_error>

#include <pipeloom/error.hpp>

namespace pipeloom::cli::mpi {
namespace {

class Packer {
 public:
  Packer& number(std::uint64_t value) {
    std::array<char, sizeof value> bytes{};
    std::memcpy(bytes.data(), &value, sizeof value);
    out_.append(bytes.data(), bytes.size());
    return *this;
  }
  Packer& text(std::string_view value) {
    number(value.size());
    out_ += value;
    return *this;
  }
  [[nodiscard]] std::string take() { return std::move(out_); }

 private:
  std::string out_;
};

class Unpacker {
 public:
  explicit Unpacker(std::string_view body) : rest_(body) {}
  std::uint64_t number() {
    std::uint64_t value = 0;
    std::memcpy(&value, take(sizeof value).data(), sizeof value);
    return value;
  }
  int whole() { return static_cast<int>(number()); }
  std::string text() { return std::string(take(number())); }

 private:
  std::string_view take(std::uint64_t bytes) {
    if (bytes > rest_.size()) throw InternalError("a letter between ranks is shorter than it says");
    const std::string_view out = rest_.substr(0, bytes);
    rest_.remove_prefix(bytes);
    return out;
  }
  std::string_view rest_;
};

std::string host_name() {
  std::array<char, 256> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "?";
}

std::string process_place() {
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::string boot;
  std::error_code error;
  const auto space = std::filesystem::read_symlink("/proc/self/ns/pid", error);
  return !error && std::getline(file, boot) ? boot + ' ' + space.string() : "";
}

}  // namespace

Introduction Introduction::of_this_process() {
  return {host_name(), process_place(), static_cast<int>(::getpid())};
}

bool Introduction::is_gone() const {
  static const std::string here = process_place();
  return !here.empty() && place == here && process > 0 && ::kill(process, 0) != 0 && errno == ESRCH;
}

std::string pack(const Introduction& letter) {
  return Packer()
      .text(letter.host)
      .text(letter.place)
      .number(static_cast<std::uint64_t>(letter.process))
      .take();
}

std::string pack(const Readiness& letter) {
  return Packer().number(static_cast<std::uint64_t>(letter.threads)).text(letter.identity).take();
}

std::string pack(const Assignment& letter) {
  return Packer()
      .number(letter.number)
      .number(letter.piece.begin)
      .number(letter.piece.end)
      .number(letter.piece.first_point)
      .number(letter.skip_below)
      .take();
}

std::string pack(const Completion& letter) {
  const sweep::Counts& counts = letter.text.counts;
  return Packer()
      .number(letter.number)
      .number(counts.ok)
      .number(counts.illegal)
      .number(counts.hang)
      .number(counts.over_memory)
      .number(counts.failed)
      .number(letter.text.end_point)
      .text(letter.text.lines)
      .take();
}

std::string pack(const Failure& letter) {
  return Packer().number(static_cast<std::uint64_t>(letter.exit_code)).text(letter.message).take();
}

// The braces take what stands in them from left to right, as pack() wrote it.

template <>
Introduction unpack<Introduction>(std::string_view body) {
  Unpacker from(body);
  return Introduction{from.text(), from.text(), from.whole()};
}

template <>
Readiness unpack<Readiness>(std::string_view body) {
  Unpacker from(body);
  return Readiness{from.whole(), from.text()};
}

template <>
Assignment unpack<Assignment>(std::string_view body) {
  Unpacker from(body);
  return Assignment{from.number(), {from.number(), from.number(), from.number()}, from.number()};
}

template <>
Completion unpack<Completion>(std::string_view body) {
  Unpacker from(body);
  Completion out;
  out.number = from.number();
  out.text.counts = {from.number(), from.number(), from.number(), from.number(), from.number()};
  out.text.end_point = from.number();
  out.text.lines = from.text();
  return out;
}

template <>
Failure unpack<Failure>(std::string_view body) {
  Unpacker from(body);
  return Failure{from.whole(), from.text()};
}

}  // namespace pipeloom::cli::mpi
