# Writes OUTPUT, a C++ file with the text of DIRECTORY/<name> for each name of FILES.
set(text "// Generated from frontend/report/page.\n#include \"frontend/report/asset.h\"\n\n")
string(APPEND text "namespace tuff {\n\nconst ReportAsset kReportAssets[] = {\n")
foreach(file ${FILES})
  file(READ ${DIRECTORY}/${file} content)
  string(APPEND text "{\"${file}\", R\"ASSET(${content})ASSET\"},\n")
endforeach()
string(APPEND text "{nullptr, nullptr}};\n\n}  // namespace tuff\n")
file(WRITE ${OUTPUT} "${text}")
