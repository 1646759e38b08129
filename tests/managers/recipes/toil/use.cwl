cwlVersion: v1.2
class: CommandLineTool
baseCommand: [whesl, exec, -e, /p/me/study/rules.esl, --step, use, --nodes, "1", --, sh, /p/me/study/use.sh]
inputs:
  after: File
  made: {type: string, inputBinding: {position: 1}}
  used: {type: string, inputBinding: {position: 2}}
outputs: []
