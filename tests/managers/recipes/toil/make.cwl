cwlVersion: v1.2
class: CommandLineTool
baseCommand: [whesl, exec, -e, /p/me/study/rules.esl, --step, make, --nodes, "1", --no-own-node, --, srun, -n, "1", sh, /p/me/study/make.sh]
requirements: {ResourceRequirement: {coresMin: 1}}
inputs:
  made: {type: string, inputBinding: {position: 1}}
outputs:
  done: {type: stdout}
stdout: make.out
