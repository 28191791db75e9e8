// pipeloom doctor: the build of this program, and the facilities of this machine.

#include <dlfcn.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <thread>

#include "cli/command.hpp"
#include "cli/numbers.hpp"
#include "cli/options.hpp"
#include "cli/run/run_gpus.hpp"
#include "cli/sibling.hpp"
#include "sim/io/json/json_writer.hpp"
#include "study/run/make_schedule.hpp"
#include "version.hpp"

namespace pipeloom::cli::commands {
namespace {

struct DoctorOptions {
  OutputOptions output;
  PrintOptions print;
};

/// A fact about the machine or the program, and advice if something should be done about it.
struct Fact {
  std::string name;
  std::string value;
  std::string advice = {};
};

std::string compiler() {
#if defined(__clang__)
  return fmt::format("clang {}", __clang_version__);
#else
  return fmt::format("g++ {}", __VERSION__);
#endif
}

std::string build_kind() {
#ifdef NDEBUG
  return "release";
#else
  return "debug";
#endif
}

/// Devices that the CUDA driver shows, or why there are none.
std::string cuda_devices() {
  void* driver = ::dlopen("libcuda.so.1", RTLD_LAZY);
  if (driver == nullptr) return "no driver";
  using Init = int (*)(unsigned);
  using Count = int (*)(int*);
  const auto init = reinterpret_cast<Init>(::dlsym(driver, "cuInit"));
  const auto count = reinterpret_cast<Count>(::dlsym(driver, "cuDeviceGetCount"));
  int devices = 0;
  if (init == nullptr || count == nullptr || init(0) != 0 || count(&devices) != 0)
    return "driver without a device";
  return count_text(static_cast<std::size_t>(devices), "device");
}

/// The program that runs on GPUs; if it is this one, its GPUs.
std::string gpu_back_end() {
  if (gpus() != nullptr) return gpus()->devices();
  if (find_sibling(kGpuProgram, "cli"))
    return fmt::format("{0} is installed; `{0} doctor` shows its GPUs", kGpuProgram);
  return fmt::format("no {}", kGpuProgram);
}

std::vector<std::filesystem::path> font_folders() {
  std::vector<std::filesystem::path> folders = {"/usr/share/fonts", "/usr/local/share/fonts"};
  if (const char* home = std::getenv("HOME")) {
    folders.push_back(std::filesystem::path(home) / ".fonts");
    folders.push_back(std::filesystem::path(home) / ".local/share/fonts");
  }
  return folders;
}

std::size_t count_fonts(const std::filesystem::path& folder) {
  namespace fs = std::filesystem;
  std::error_code ignored;
  std::size_t fonts = 0;
  const auto skip = fs::directory_options::skip_permission_denied;
  for (fs::recursive_directory_iterator it(folder, skip, ignored), end; it != end; it.increment(ignored)) {
    const auto extension = it->path().extension();
    if (extension == ".ttf" || extension == ".otf" || extension == ".ttc") ++fonts;
  }
  return fonts;
}

Fact fonts() {
  std::size_t count = 0;
  for (const auto& folder : font_folders()) count += count_fonts(folder);
  if (count > 0) return {"fonts", count_text(count, "font file")};
  return {"fonts", "none", "PNG and PDF will lack their text; install a font such as DejaVu Sans"};
}

std::string colour_name(draw::TerminalColour colour) {
  switch (colour) {
    case draw::TerminalColour::None:
      return "no colour";
    case draw::TerminalColour::Ansi256:
      return "256 colours";
    case draw::TerminalColour::TrueColour:
      return "24-bit colour";
  }
  return "";
}

std::string terminal(const Screen& screen) {
  return fmt::format("{}, {} columns, {}, {}", stdout_is_terminal() ? "terminal" : "no terminal",
                     screen.width, colour_name(screen.colour), screen.unicode ? "UTF-8" : "no UTF-8");
}

std::vector<Fact> examine(const Screen& screen) {
  const auto memory =
      static_cast<Bytes>(::sysconf(_SC_PHYS_PAGES)) * static_cast<Bytes>(::sysconf(_SC_PAGESIZE));
  std::vector<Fact> facts = {
      {"pipeloom", std::string(kVersion)},
      {"compiler", compiler()},
      {"build", build_kind()},
      {"packages", PIPELOOM_PACKAGES},
      {"cores", fmt::format("{}", std::thread::hardware_concurrency())},
      {"memory", fmt::format("{}; runs may take {}", bytes_text(memory),
                             bytes_text(static_cast<Bytes>(study::default_max_memory())))},
      {"terminal", terminal(screen)},
      {"cuda compiler", PIPELOOM_CUDA_COMPILER},
      {"cuda", cuda_devices()},
      {"gpu back end", gpu_back_end()},
      fonts()};
  if (facts[2].value == "debug")
    facts[2].advice = "this build is slow; configure with --preset release for long runs";
  return facts;
}

std::string as_json(const std::vector<Fact>& facts) {
  return io::written_json(io::kReportStyle,
                          [&](io::JsonWriter& out) {
                            out.object().line(2).member("schema_version", 1);
                            for (const Fact& fact : facts) out.line(2).member(fact.name, fact.value);
                            out.close(0);
                          }) +
         "\n";
}

ExitCode run_doctor(const DoctorOptions& options) {
  const auto facts = examine(options.output.screen());
  if (options.print.is("json")) {
    print(as_json(facts));
    return ExitCode::Ok;
  }
  Table table({{"", Align::Left}, {"", Align::Left}});
  for (const Fact& fact : facts) {
    table.add_row({fact.name, fact.value});
    if (!fact.advice.empty()) table.add_row({"", "-> " + fact.advice});
  }
  print(table.text());
  return ExitCode::Ok;
}

}  // namespace

Run doctor(OptionList& list) {
  auto options = std::make_shared<DoctorOptions>();
  add_print_options(list, options->print, {"table", "json"}, "What is printed");
  add_output_options(list, options->output);
  return [options] { return run_doctor(*options); };
}

}  // namespace pipeloom::cli::commands
