#include "frontend/report/html.h"

#include <fmt/format.h>

#include <string_view>

#include "frontend/report/asset.h"

namespace tuff {

namespace {

// Inside a script element only "</script" and "<!--" would end or change it.
std::string script_safe(std::string json) {
  for (size_t at = 0; (at = json.find('<', at)) != std::string::npos; at += 6)
    json.replace(at, 1, "\\u003c");
  return json;
}

}  // namespace

std::string render_report(const nlohmann::ordered_json& data) {
  std::string styles, scripts;
  for (const ReportAsset* asset = kReportAssets; asset->name != nullptr; ++asset)
    (std::string_view(asset->name).ends_with(".css") ? styles : scripts) += asset->text;
  std::string json = data.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
  return fmt::format(
      "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<link rel=\"icon\" href=\"data:,\">\n<title>tuff report</title>\n"
      "<style>\n{}</style>\n</head>\n<body>\n"
      "<noscript>This report draws its pages with JavaScript.</noscript>\n"
      "<script type=\"application/json\" id=\"data\">{}</script>\n"
      "<script>\n(() => {{\n\"use strict\";\n{}}})();\n</script>\n</body>\n</html>\n",
      styles, script_safe(std::move(json)), scripts);
}

}  // namespace tuff
