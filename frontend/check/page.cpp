// check.html: tables, no script.
#include <fmt/format.h>

#include "frontend/check/check.h"
#include "frontend/check/summary.h"

namespace tuff::check {

namespace {

constexpr const char* kStyle =
    ":root{color-scheme:light dark;--soft:#777;--line:#8884;--bad:#c33;--good:#2a7}"
    "body{font:15px/1.5 system-ui,sans-serif;max-width:1080px;margin:2rem auto;padding:0 1rem}"
    "h1{font-size:1.5rem;margin:0}h2{font-size:1.1rem;margin:2rem 0 .5rem}"
    "p.about{color:var(--soft);margin:.2rem 0 1.5rem}"
    "div.scroll{overflow-x:auto}table{border-collapse:collapse;width:100%;font-size:14px}"
    "th,td{text-align:left;padding:.3rem .7rem .3rem 0;border-bottom:1px solid var(--line);"
    "vertical-align:top}th{color:var(--soft);font-weight:500}"
    "td.n,th.n{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}"
    ".passed{color:var(--good)}.failed,.hung{color:var(--bad);font-weight:600}"
    ".skipped{color:var(--soft)}pre{white-space:pre-wrap;font-size:12.5px;overflow-x:auto}";

std::string escaped(const std::string& text) {
  std::string result;
  for (char c : text) switch (c) {
      case '&': result += "&amp;"; break;
      case '<': result += "&lt;"; break;
      case '>': result += "&gt;"; break;
      case '"': result += "&quot;"; break;
      default: result += c;
    }
  return result;
}

// A table under a heading; nothing where it has no rows.
class Table {
 public:
  // Headings that begin with '#' are of numbers.
  Table(std::string title, std::vector<std::string> headings)
      : title_(std::move(title)), headings_(std::move(headings)) {}

  void row(const std::vector<std::string>& cells, const std::string& last_class = "") {
    rows_ += "<tr>";
    for (size_t i = 0; i < cells.size(); ++i) {
      bool number = headings_[i].starts_with("#");
      std::string kind = number ? "n" : i + 1 == cells.size() ? last_class : "";
      rows_ += kind.empty() ? "<td>" : fmt::format("<td class=\"{}\">", kind);
      rows_ += escaped(cells[i]) + "</td>";
    }
    rows_ += "</tr>\n";
  }

  std::string html() const {
    if (rows_.empty()) return "";
    std::string head;
    for (const std::string& heading : headings_)
      head += heading.starts_with("#")
                  ? fmt::format("<th class=\"n\">{}</th>", escaped(heading.substr(1)))
                  : fmt::format("<th>{}</th>", escaped(heading));
    return fmt::format("<h2>{}</h2>\n<div class=\"scroll\"><table><tr>{}</tr>\n{}</table></div>\n",
                       escaped(title_), head, rows_);
  }

 private:
  std::string title_;
  std::vector<std::string> headings_;
  std::string rows_;
};

std::string number(std::optional<double> value, int digits = 1) {
  return value ? fmt::format("{:.{}f}", *value, digits) : "–";
}

std::string text_of(const Json& json, const char* key) {
  if (!json.is_object() || !json.contains(key)) return "";
  return json[key].is_string() ? json[key].get<std::string>() : json[key].dump();
}

std::string device_table(const Json& check) {
  Table table("Device", {"", ""});
  const Json& device = check["device"];
  if (device.is_object()) {
    for (const char* key : {"id", "type", "driver", "api_version"})
      table.row({key, text_of(device, key)});
    table.row({"memory", number(device.value("memory_bytes", 0.0) / (1 << 30)) + " GiB"});
    for (const Json& matrix : device.value("matrices", Json::array()))
      table.row({"matrix", matrix.get<std::string>()});
    for (const Json& quirk : device.value("quirks", Json::array()))
      table.row({"quirk", quirk.get<std::string>()});
  }
  table.row({"host", fmt::format("{}, {}", text_of(check["machine"], "cpu"),
                                 text_of(check["machine"], "system"))});
  return table.html();
}

std::string part_table(const Json& check) {
  Table table("Parts", {"part", "what it shows", "#seconds", "why", "how it ended"});
  for (const Json& part : check["parts"]) {
    std::string status = text_of(part, "status");
    table.row({text_of(part, "name"), text_of(part, "what"),
               part.contains("seconds") ? number(part["seconds"].get<double>()) : "",
               text_of(part, "why"), status},
              status);
  }
  return table.html();
}

std::string roof_table(const Json& check) {
  Table table("At best", {"", "#"});
  const std::pair<const char*, const char*> kRows[] = {{"products f32, GFLOP/s", "f32_gflops"},
                                                       {"products f16, GFLOP/s", "f16_gflops"},
                                                       {"copies, GB/s", "copy_gbps"},
                                                       {"a dispatch, us", "dispatch_us"},
                                                       {"a submission, us", "submit_us"}};
  for (const auto& [title, key] : kRows)
    if (auto value = number_of(check, "roof", key)) table.row({title, number(value)});
  return table.html();
}

std::string model_table(const Json& check) {
  Table table("Models", {"model", "#first ms", "#second ms", "#steady ms", "#memory MiB",
                         "#arena MiB", "on the host"});
  for (const Json& part : check["parts"]) {
    std::string name = text_of(part, "name");
    if (!name.starts_with("model ") || part["status"] != "passed") continue;
    const Json& result = part["result"];
    std::string hosted;
    for (const Json& one : result.value("hosted", Json::array()))
      hosted += (hosted.empty() ? "" : "; ") + text_of(one, "why");
    auto mib = [&](const char* key) {
      auto bytes = number_of(check, name, "memory", key);
      return bytes ? number(*bytes / (1 << 20)) : "–";
    };
    table.row({name.substr(6), number(number_of(check, name, "first_ms"), 0),
               number(number_of(check, name, "second_ms"), 2),
               number(number_of(check, name, "steady_ms", "median"), 2), mib("peak_bytes"),
               mib("arena_bytes"), hosted.empty() ? "nothing" : hosted});
  }
  return table.html();
}

// What a peer says of a product, or why it says nothing.
std::string peer_cell(const Json& peer, const std::string& product) {
  if (peer.contains("skipped")) return "–";
  const Json& rates = peer.value("gflops", Json::object());
  return rates.contains(product) && rates[product].is_number()
             ? number(rates[product].get<double>(), 0)
             : "–";
}

std::string product_table(const Json& check) {
  std::vector<std::string> headings = {"rows x columns x steps", "#tuff, GFLOP/s"};
  Json peers = Json::object();
  if (const Json* part = find_part(check, "peers"); part != nullptr && part->contains("result"))
    peers = (*part)["result"].value("peers", Json::object());
  for (const auto& [name, peer] : peers.items()) headings.push_back("#" + name);
  Table table("Products", headings);
  for (const Json& part : check["parts"]) {
    std::string name = text_of(part, "name");
    if (!name.starts_with("product ")) continue;
    std::vector<std::string> cells = {name.substr(8), number(gflops_of(part), 0)};
    for (const auto& [peer_name, peer] : peers.items())
      cells.push_back(peer_cell(peer, name.substr(8)));
    table.row(cells);
  }
  std::string skipped;
  for (const auto& [name, peer] : peers.items())
    if (peer.contains("skipped"))
      skipped +=
          fmt::format("<p>{}: skipped, {}</p>\n", escaped(name), escaped(text_of(peer, "skipped")));
  return table.html() + skipped;
}

std::string driver_table(const Json& check) {
  Table table(
      "What the driver's compiler made",
      {"model", "#kernels", "#that spill", "#least occupancy", "#largest code, KB", "if not"});
  for (const Json& part : check["parts"]) {
    std::string name = text_of(part, "name");
    if (!name.starts_with("driver ") || !part.contains("result")) continue;
    const Json& result = part["result"];
    if (!result.contains("kernels")) {
      table.row({name.substr(7), "–", "–", "–", "–", text_of(result, "why_not")});
      continue;
    }
    int spilling = 0;
    std::optional<double> occupancy, code;
    for (const Json& kernel : result["kernels"]) {
      const Json& r = kernel["resources"];
      spilling += r.value("spills", 0.0) > 0 || r.value("scratch_bytes", 0.0) > 0;
      if (r.contains("occupancy"))
        occupancy = std::min(occupancy.value_or(1e9), r["occupancy"].get<double>());
      if (r.contains("code_bytes"))
        code = std::max(code.value_or(0), r["code_bytes"].get<double>() / 1024);
    }
    table.row({name.substr(7), std::to_string(result["kernels"].size()), std::to_string(spilling),
               number(occupancy, 0), number(code), ""});
  }
  return table.html();
}

std::string texts(const Json& check) {
  std::string html;
  for (const Json& part : check["parts"])
    if (part.contains("text") && (part["status"] != "passed" || part["name"] == "doctor"))
      html += fmt::format("<h2>{}</h2>\n<pre>{}</pre>\n", escaped(text_of(part, "name")),
                          escaped(text_of(part, "text")));
  return html;
}

}  // namespace

std::string render_check(const Json& check) {
  const Json& device = check["device"];
  std::string title = device.is_object() ? text_of(device, "name") : "no usable Vulkan device";
  return fmt::format(
             "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
             "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">"
             "<link rel=\"icon\" href=\"data:,\"><title>{0} – tuff check</title>\n"
             "<style>{1}</style></head><body>\n<h1>{0}</h1>\n<p class=\"about\">{2} · tuff {3} · "
             "{4} · "
             "{5:.0f} s</p>\n",
             escaped(title), kStyle, escaped(verdict_of(check)), escaped(text_of(check, "version")),
             escaped(text_of(check, "date")), check["seconds"].get<double>()) +
         device_table(check) + part_table(check) + roof_table(check) + model_table(check) +
         product_table(check) + driver_table(check) + texts(check) + "</body></html>\n";
}

}  // namespace tuff::check
