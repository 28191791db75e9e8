#include "study/pages/sweep_page.hpp"

#include <fmt/format.h>

#include "study/plots/sweep_map.hpp"
#include "study/plots/sweep_scatter.hpp"

namespace pipeloom::study::page {

Page sweep_page(const std::vector<std::string>& files, const SweepQuestion& question, std::string footer) {
  Page page;
  page.footer = std::move(footer);
  page.style = std::string(scatter_style()) + std::string(map_style());
  for (std::size_t i = 0; i < files.size(); ++i) {
    const std::string id = files.size() == 1 ? "sweep" : fmt::format("sweep{}", i + 1);
    SweepFindings found = sweep_findings(sweep::ResultTable::read(files[i]), files[i], question, id);
    if (files.size() == 1) {
      page.title = std::move(found.title);
      page.subtitle = std::move(found.subtitle);
      page.lead = std::move(found.lead);
    } else {
      page.title = fmt::format("{} sweeps", files.size());
      found.lead.insert(found.lead.begin(), Paragraph{found.subtitle, Tone::Muted});
      page.sections.push_back({id, fmt::format("{}. {}", i + 1, found.title), std::move(found.lead)});
    }
    for (Section& section : found.sections) {
      if (files.size() > 1) section.heading = fmt::format("{}. {}", i + 1, section.heading);
      page.sections.push_back(std::move(section));
    }
  }
  return page;
}

}  // namespace pipeloom::study::page
