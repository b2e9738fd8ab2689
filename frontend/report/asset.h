// The files of frontend/report/page as they are in the library.
#pragma once

namespace tuff {

struct ReportAsset {
  const char* name;  // "report.css"; null ends the list
  const char* text;
};
extern const ReportAsset kReportAssets[];

}  // namespace tuff
