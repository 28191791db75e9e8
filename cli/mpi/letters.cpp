#include "cli/mpi/letters.hpp"

#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <utility>

#include <pipeloom/error.hpp>

namespace pipeloom::cli::mpi {
namespace {

/// What `read` takes out of a letter.
template <class Read>
auto taken_from(const net::Bytes& body, Read&& read) {
  try {
    net::Reader in(body);
    return read(in);
  } catch (const net::MalformedBytes&) {
    throw InternalError("a letter between ranks is shorter than it says");
  }
}

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

net::Bytes pack(const Introduction& letter) {
  net::Writer out;
  out.text(letter.host).text(letter.place).i64(letter.process);
  return std::move(out).take();
}

net::Bytes pack(const Readiness& letter) {
  net::Writer out;
  out.i64(letter.threads).text(letter.identity);
  return std::move(out).take();
}

net::Bytes pack(const Assignment& letter) {
  net::Writer out;
  out.u64(letter.number).u64(letter.piece.begin).u64(letter.piece.end).u64(letter.piece.first_point);
  out.u64(letter.skip_below);
  return std::move(out).take();
}

net::Bytes pack(const Completion& letter) {
  const sweep::Counts& counts = letter.text.counts;
  net::Writer out;
  out.u64(letter.number);
  out.u64(counts.ok).u64(counts.illegal).u64(counts.hang).u64(counts.over_memory).u64(counts.failed);
  out.u64(letter.text.end_point).text(letter.text.lines);
  return std::move(out).take();
}

net::Bytes pack(const Failure& letter) {
  net::Writer out;
  out.i64(letter.exit_code).text(letter.message);
  return std::move(out).take();
}

// The braces take what stands in them from left to right, as pack() wrote it.

template <>
Introduction unpack<Introduction>(const net::Bytes& body) {
  return taken_from(body, [](net::Reader& in) {
    return Introduction{in.text(), in.text(), static_cast<int>(in.i64())};
  });
}

template <>
Readiness unpack<Readiness>(const net::Bytes& body) {
  return taken_from(body, [](net::Reader& in) { return Readiness{static_cast<int>(in.i64()), in.text()}; });
}

template <>
Assignment unpack<Assignment>(const net::Bytes& body) {
  return taken_from(body, [](net::Reader& in) {
    return Assignment{in.u64(), {in.u64(), in.u64(), in.u64()}, in.u64()};
  });
}

template <>
Completion unpack<Completion>(const net::Bytes& body) {
  return taken_from(body, [](net::Reader& in) {
    Completion out;
    out.number = in.u64();
    out.text.counts = {in.u64(), in.u64(), in.u64(), in.u64(), in.u64()};
    out.text.end_point = in.u64();
    out.text.lines = in.text();
    return out;
  });
}

template <>
Failure unpack<Failure>(const net::Bytes& body) {
  return taken_from(body, [](net::Reader& in) { return Failure{static_cast<int>(in.i64()), in.text()}; });
}

}  // namespace pipeloom::cli::mpi
