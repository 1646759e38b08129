# encoding: utf-8
from antlr4 import *
from io import StringIO
import sys
if sys.version_info[1] > 5:
	from typing import TextIO
else:
	from typing.io import TextIO

def serializedATN():
    return [
        4,1,69,494,2,0,7,0,2,1,7,1,2,2,7,2,2,3,7,3,2,4,7,4,2,5,7,5,2,6,7,
        6,2,7,7,7,2,8,7,8,2,9,7,9,2,10,7,10,2,11,7,11,2,12,7,12,2,13,7,13,
        2,14,7,14,2,15,7,15,2,16,7,16,2,17,7,17,2,18,7,18,2,19,7,19,2,20,
        7,20,2,21,7,21,2,22,7,22,2,23,7,23,2,24,7,24,2,25,7,25,2,26,7,26,
        2,27,7,27,2,28,7,28,2,29,7,29,1,0,5,0,62,8,0,10,0,12,0,65,9,0,1,
        0,5,0,68,8,0,10,0,12,0,71,9,0,1,0,1,0,1,1,1,1,4,1,77,8,1,11,1,12,
        1,78,1,1,3,1,82,8,1,1,2,1,2,1,2,1,2,1,2,1,2,1,2,3,2,91,8,2,3,2,93,
        8,2,1,3,1,3,1,3,1,3,5,3,99,8,3,10,3,12,3,102,9,3,1,3,1,3,1,3,1,3,
        5,3,108,8,3,10,3,12,3,111,9,3,1,3,1,3,1,3,1,3,5,3,117,8,3,10,3,12,
        3,120,9,3,1,3,1,3,5,3,124,8,3,10,3,12,3,127,9,3,1,3,1,3,5,3,131,
        8,3,10,3,12,3,134,9,3,1,3,1,3,5,3,138,8,3,10,3,12,3,141,9,3,5,3,
        143,8,3,10,3,12,3,146,9,3,1,3,1,3,1,3,3,3,151,8,3,1,3,1,3,1,3,1,
        3,1,3,1,3,5,3,159,8,3,10,3,12,3,162,9,3,1,3,1,3,5,3,166,8,3,10,3,
        12,3,169,9,3,1,3,1,3,5,3,173,8,3,10,3,12,3,176,9,3,1,3,1,3,5,3,180,
        8,3,10,3,12,3,183,9,3,5,3,185,8,3,10,3,12,3,188,9,3,1,3,1,3,5,3,
        192,8,3,10,3,12,3,195,9,3,1,3,1,3,1,3,1,3,5,3,201,8,3,10,3,12,3,
        204,9,3,1,3,1,3,5,3,208,8,3,10,3,12,3,211,9,3,1,3,1,3,5,3,215,8,
        3,10,3,12,3,218,9,3,1,3,1,3,5,3,222,8,3,10,3,12,3,225,9,3,5,3,227,
        8,3,10,3,12,3,230,9,3,1,3,1,3,3,3,234,8,3,1,4,1,4,1,4,1,4,1,4,1,
        4,1,4,1,4,1,4,1,4,1,4,1,4,1,4,3,4,249,8,4,1,4,3,4,252,8,4,3,4,254,
        8,4,1,5,1,5,1,6,1,6,1,7,1,7,1,8,1,8,1,9,1,9,1,10,1,10,1,10,3,10,
        269,8,10,1,11,1,11,4,11,273,8,11,11,11,12,11,274,3,11,277,8,11,1,
        12,1,12,1,13,1,13,1,13,3,13,284,8,13,1,13,1,13,1,13,1,13,1,13,1,
        13,1,13,3,13,293,8,13,3,13,295,8,13,1,13,1,13,1,13,3,13,300,8,13,
        3,13,302,8,13,1,14,1,14,1,14,1,14,1,14,1,14,1,14,1,14,1,14,3,14,
        313,8,14,1,14,1,14,1,14,1,14,3,14,319,8,14,1,14,1,14,1,14,1,14,3,
        14,325,8,14,1,14,1,14,1,14,1,14,3,14,331,8,14,1,14,1,14,1,14,1,14,
        1,14,1,14,1,14,1,14,3,14,341,8,14,1,14,1,14,1,14,1,14,1,14,5,14,
        348,8,14,10,14,12,14,351,9,14,3,14,353,8,14,1,14,1,14,1,14,1,14,
        1,14,1,14,1,14,1,14,1,14,1,14,1,14,1,14,1,14,3,14,368,8,14,1,14,
        1,14,1,14,1,14,3,14,374,8,14,1,14,1,14,1,14,1,14,3,14,380,8,14,1,
        14,3,14,383,8,14,1,14,1,14,3,14,387,8,14,3,14,389,8,14,1,15,1,15,
        1,15,1,16,1,16,5,16,396,8,16,10,16,12,16,399,9,16,1,16,1,16,5,16,
        403,8,16,10,16,12,16,406,9,16,1,16,1,16,5,16,410,8,16,10,16,12,16,
        413,9,16,1,16,1,16,5,16,417,8,16,10,16,12,16,420,9,16,5,16,422,8,
        16,10,16,12,16,425,9,16,1,16,1,16,1,17,3,17,430,8,17,1,17,1,17,1,
        18,1,18,1,18,1,18,1,18,3,18,439,8,18,1,19,1,19,1,19,3,19,444,8,19,
        1,20,1,20,1,20,1,21,1,21,1,21,1,21,3,21,453,8,21,1,22,1,22,1,22,
        1,22,5,22,459,8,22,10,22,12,22,462,9,22,1,23,1,23,1,23,3,23,467,
        8,23,1,24,1,24,1,24,1,25,1,25,1,26,3,26,475,8,26,1,26,1,26,1,27,
        3,27,480,8,27,1,27,1,27,1,28,3,28,485,8,28,1,28,1,28,1,29,3,29,490,
        8,29,1,29,1,29,1,29,0,0,30,0,2,4,6,8,10,12,14,16,18,20,22,24,26,
        28,30,32,34,36,38,40,42,44,46,48,50,52,54,56,58,0,6,3,0,55,59,64,
        65,69,69,1,0,1,53,1,0,25,26,1,0,27,29,1,0,14,15,1,0,53,54,550,0,
        63,1,0,0,0,2,74,1,0,0,0,4,92,1,0,0,0,6,233,1,0,0,0,8,253,1,0,0,0,
        10,255,1,0,0,0,12,257,1,0,0,0,14,259,1,0,0,0,16,261,1,0,0,0,18,263,
        1,0,0,0,20,265,1,0,0,0,22,276,1,0,0,0,24,278,1,0,0,0,26,301,1,0,
        0,0,28,388,1,0,0,0,30,390,1,0,0,0,32,393,1,0,0,0,34,429,1,0,0,0,
        36,438,1,0,0,0,38,440,1,0,0,0,40,445,1,0,0,0,42,448,1,0,0,0,44,454,
        1,0,0,0,46,463,1,0,0,0,48,468,1,0,0,0,50,471,1,0,0,0,52,474,1,0,
        0,0,54,479,1,0,0,0,56,484,1,0,0,0,58,489,1,0,0,0,60,62,5,65,0,0,
        61,60,1,0,0,0,62,65,1,0,0,0,63,61,1,0,0,0,63,64,1,0,0,0,64,69,1,
        0,0,0,65,63,1,0,0,0,66,68,3,2,1,0,67,66,1,0,0,0,68,71,1,0,0,0,69,
        67,1,0,0,0,69,70,1,0,0,0,70,72,1,0,0,0,71,69,1,0,0,0,72,73,5,0,0,
        1,73,1,1,0,0,0,74,81,3,4,2,0,75,77,5,65,0,0,76,75,1,0,0,0,77,78,
        1,0,0,0,78,76,1,0,0,0,78,79,1,0,0,0,79,82,1,0,0,0,80,82,5,0,0,1,
        81,76,1,0,0,0,81,80,1,0,0,0,82,3,1,0,0,0,83,84,5,2,0,0,84,93,3,6,
        3,0,85,86,5,6,0,0,86,93,3,8,4,0,87,88,5,1,0,0,88,90,5,55,0,0,89,
        91,3,36,18,0,90,89,1,0,0,0,90,91,1,0,0,0,91,93,1,0,0,0,92,83,1,0,
        0,0,92,85,1,0,0,0,92,87,1,0,0,0,93,5,1,0,0,0,94,95,5,3,0,0,95,100,
        3,10,5,0,96,97,5,57,0,0,97,99,3,10,5,0,98,96,1,0,0,0,99,102,1,0,
        0,0,100,98,1,0,0,0,100,101,1,0,0,0,101,234,1,0,0,0,102,100,1,0,0,
        0,103,104,5,4,0,0,104,109,3,12,6,0,105,106,5,57,0,0,106,108,3,12,
        6,0,107,105,1,0,0,0,108,111,1,0,0,0,109,107,1,0,0,0,109,110,1,0,
        0,0,110,234,1,0,0,0,111,109,1,0,0,0,112,113,5,5,0,0,113,114,3,14,
        7,0,114,118,5,58,0,0,115,117,5,65,0,0,116,115,1,0,0,0,117,120,1,
        0,0,0,118,116,1,0,0,0,118,119,1,0,0,0,119,121,1,0,0,0,120,118,1,
        0,0,0,121,125,3,20,10,0,122,124,5,65,0,0,123,122,1,0,0,0,124,127,
        1,0,0,0,125,123,1,0,0,0,125,126,1,0,0,0,126,144,1,0,0,0,127,125,
        1,0,0,0,128,132,5,57,0,0,129,131,5,65,0,0,130,129,1,0,0,0,131,134,
        1,0,0,0,132,130,1,0,0,0,132,133,1,0,0,0,133,135,1,0,0,0,134,132,
        1,0,0,0,135,139,3,20,10,0,136,138,5,65,0,0,137,136,1,0,0,0,138,141,
        1,0,0,0,139,137,1,0,0,0,139,140,1,0,0,0,140,143,1,0,0,0,141,139,
        1,0,0,0,142,128,1,0,0,0,143,146,1,0,0,0,144,142,1,0,0,0,144,145,
        1,0,0,0,145,147,1,0,0,0,146,144,1,0,0,0,147,150,5,59,0,0,148,149,
        5,12,0,0,149,151,5,55,0,0,150,148,1,0,0,0,150,151,1,0,0,0,151,234,
        1,0,0,0,152,153,5,6,0,0,153,154,3,18,9,0,154,155,3,12,6,0,155,156,
        5,10,0,0,156,160,5,58,0,0,157,159,5,65,0,0,158,157,1,0,0,0,159,162,
        1,0,0,0,160,158,1,0,0,0,160,161,1,0,0,0,161,163,1,0,0,0,162,160,
        1,0,0,0,163,167,3,22,11,0,164,166,5,65,0,0,165,164,1,0,0,0,166,169,
        1,0,0,0,167,165,1,0,0,0,167,168,1,0,0,0,168,186,1,0,0,0,169,167,
        1,0,0,0,170,174,5,57,0,0,171,173,5,65,0,0,172,171,1,0,0,0,173,176,
        1,0,0,0,174,172,1,0,0,0,174,175,1,0,0,0,175,177,1,0,0,0,176,174,
        1,0,0,0,177,181,3,22,11,0,178,180,5,65,0,0,179,178,1,0,0,0,180,183,
        1,0,0,0,181,179,1,0,0,0,181,182,1,0,0,0,182,185,1,0,0,0,183,181,
        1,0,0,0,184,170,1,0,0,0,185,188,1,0,0,0,186,184,1,0,0,0,186,187,
        1,0,0,0,187,189,1,0,0,0,188,186,1,0,0,0,189,193,5,59,0,0,190,192,
        3,26,13,0,191,190,1,0,0,0,192,195,1,0,0,0,193,191,1,0,0,0,193,194,
        1,0,0,0,194,234,1,0,0,0,195,193,1,0,0,0,196,197,5,13,0,0,197,198,
        5,10,0,0,198,202,5,58,0,0,199,201,5,65,0,0,200,199,1,0,0,0,201,204,
        1,0,0,0,202,200,1,0,0,0,202,203,1,0,0,0,203,205,1,0,0,0,204,202,
        1,0,0,0,205,209,3,22,11,0,206,208,5,65,0,0,207,206,1,0,0,0,208,211,
        1,0,0,0,209,207,1,0,0,0,209,210,1,0,0,0,210,228,1,0,0,0,211,209,
        1,0,0,0,212,216,5,57,0,0,213,215,5,65,0,0,214,213,1,0,0,0,215,218,
        1,0,0,0,216,214,1,0,0,0,216,217,1,0,0,0,217,219,1,0,0,0,218,216,
        1,0,0,0,219,223,3,22,11,0,220,222,5,65,0,0,221,220,1,0,0,0,222,225,
        1,0,0,0,223,221,1,0,0,0,223,224,1,0,0,0,224,227,1,0,0,0,225,223,
        1,0,0,0,226,212,1,0,0,0,227,230,1,0,0,0,228,226,1,0,0,0,228,229,
        1,0,0,0,229,231,1,0,0,0,230,228,1,0,0,0,231,232,5,59,0,0,232,234,
        1,0,0,0,233,94,1,0,0,0,233,103,1,0,0,0,233,112,1,0,0,0,233,152,1,
        0,0,0,233,196,1,0,0,0,234,7,1,0,0,0,235,236,5,7,0,0,236,237,3,18,
        9,0,237,238,3,28,14,0,238,254,1,0,0,0,239,240,5,8,0,0,240,241,5,
        9,0,0,241,242,3,18,9,0,242,243,3,10,5,0,243,244,3,14,7,0,244,245,
        5,60,0,0,245,248,3,16,8,0,246,247,5,47,0,0,247,249,5,48,0,0,248,
        246,1,0,0,0,248,249,1,0,0,0,249,251,1,0,0,0,250,252,5,56,0,0,251,
        250,1,0,0,0,251,252,1,0,0,0,252,254,1,0,0,0,253,235,1,0,0,0,253,
        239,1,0,0,0,254,9,1,0,0,0,255,256,3,24,12,0,256,11,1,0,0,0,257,258,
        3,24,12,0,258,13,1,0,0,0,259,260,3,24,12,0,260,15,1,0,0,0,261,262,
        3,24,12,0,262,17,1,0,0,0,263,264,3,24,12,0,264,19,1,0,0,0,265,268,
        3,16,8,0,266,267,5,12,0,0,267,269,5,55,0,0,268,266,1,0,0,0,268,269,
        1,0,0,0,269,21,1,0,0,0,270,277,5,55,0,0,271,273,8,0,0,0,272,271,
        1,0,0,0,273,274,1,0,0,0,274,272,1,0,0,0,274,275,1,0,0,0,275,277,
        1,0,0,0,276,270,1,0,0,0,276,272,1,0,0,0,277,23,1,0,0,0,278,279,7,
        1,0,0,279,25,1,0,0,0,280,281,5,36,0,0,281,283,3,52,26,0,282,284,
        3,40,20,0,283,282,1,0,0,0,283,284,1,0,0,0,284,302,1,0,0,0,285,286,
        5,37,0,0,286,302,3,54,27,0,287,294,5,38,0,0,288,295,5,39,0,0,289,
        295,5,40,0,0,290,292,5,41,0,0,291,293,3,18,9,0,292,291,1,0,0,0,292,
        293,1,0,0,0,293,295,1,0,0,0,294,288,1,0,0,0,294,289,1,0,0,0,294,
        290,1,0,0,0,295,302,1,0,0,0,296,297,5,42,0,0,297,299,5,55,0,0,298,
        300,3,48,24,0,299,298,1,0,0,0,299,300,1,0,0,0,300,302,1,0,0,0,301,
        280,1,0,0,0,301,285,1,0,0,0,301,287,1,0,0,0,301,296,1,0,0,0,302,
        27,1,0,0,0,303,304,5,18,0,0,304,305,3,30,15,0,305,306,3,36,18,0,
        306,307,3,42,21,0,307,389,1,0,0,0,308,309,3,30,15,0,309,312,3,36,
        18,0,310,313,3,38,19,0,311,313,3,42,21,0,312,310,1,0,0,0,312,311,
        1,0,0,0,312,313,1,0,0,0,313,389,1,0,0,0,314,315,5,16,0,0,315,316,
        3,32,16,0,316,318,3,36,18,0,317,319,3,40,20,0,318,317,1,0,0,0,318,
        319,1,0,0,0,319,389,1,0,0,0,320,321,5,17,0,0,321,322,3,32,16,0,322,
        324,3,36,18,0,323,325,3,38,19,0,324,323,1,0,0,0,324,325,1,0,0,0,
        325,389,1,0,0,0,326,327,5,19,0,0,327,389,3,42,21,0,328,330,5,20,
        0,0,329,331,5,15,0,0,330,329,1,0,0,0,330,331,1,0,0,0,331,332,1,0,
        0,0,332,333,5,55,0,0,333,334,3,36,18,0,334,335,3,42,21,0,335,389,
        1,0,0,0,336,352,5,21,0,0,337,340,5,17,0,0,338,339,5,22,0,0,339,341,
        3,44,22,0,340,338,1,0,0,0,340,341,1,0,0,0,341,353,1,0,0,0,342,353,
        3,44,22,0,343,344,5,24,0,0,344,349,3,50,25,0,345,346,5,57,0,0,346,
        348,3,50,25,0,347,345,1,0,0,0,348,351,1,0,0,0,349,347,1,0,0,0,349,
        350,1,0,0,0,350,353,1,0,0,0,351,349,1,0,0,0,352,337,1,0,0,0,352,
        342,1,0,0,0,352,343,1,0,0,0,353,389,1,0,0,0,354,355,5,11,0,0,355,
        389,7,2,0,0,356,357,7,3,0,0,357,358,5,55,0,0,358,359,5,30,0,0,359,
        360,3,56,28,0,360,361,5,64,0,0,361,389,1,0,0,0,362,363,5,6,0,0,363,
        364,3,18,9,0,364,365,3,52,26,0,365,367,5,32,0,0,366,368,3,40,20,
        0,367,366,1,0,0,0,367,368,1,0,0,0,368,389,1,0,0,0,369,370,5,10,0,
        0,370,371,5,6,0,0,371,373,5,55,0,0,372,374,3,48,24,0,373,372,1,0,
        0,0,373,374,1,0,0,0,374,389,1,0,0,0,375,389,5,44,0,0,376,379,5,45,
        0,0,377,378,5,11,0,0,378,380,5,55,0,0,379,377,1,0,0,0,379,380,1,
        0,0,0,380,382,1,0,0,0,381,383,3,40,20,0,382,381,1,0,0,0,382,383,
        1,0,0,0,383,386,1,0,0,0,384,385,5,46,0,0,385,387,3,58,29,0,386,384,
        1,0,0,0,386,387,1,0,0,0,387,389,1,0,0,0,388,303,1,0,0,0,388,308,
        1,0,0,0,388,314,1,0,0,0,388,320,1,0,0,0,388,326,1,0,0,0,388,328,
        1,0,0,0,388,336,1,0,0,0,388,354,1,0,0,0,388,356,1,0,0,0,388,362,
        1,0,0,0,388,369,1,0,0,0,388,375,1,0,0,0,388,376,1,0,0,0,389,29,1,
        0,0,0,390,391,7,4,0,0,391,392,5,55,0,0,392,31,1,0,0,0,393,397,5,
        58,0,0,394,396,5,65,0,0,395,394,1,0,0,0,396,399,1,0,0,0,397,395,
        1,0,0,0,397,398,1,0,0,0,398,400,1,0,0,0,399,397,1,0,0,0,400,404,
        3,34,17,0,401,403,5,65,0,0,402,401,1,0,0,0,403,406,1,0,0,0,404,402,
        1,0,0,0,404,405,1,0,0,0,405,423,1,0,0,0,406,404,1,0,0,0,407,411,
        5,57,0,0,408,410,5,65,0,0,409,408,1,0,0,0,410,413,1,0,0,0,411,409,
        1,0,0,0,411,412,1,0,0,0,412,414,1,0,0,0,413,411,1,0,0,0,414,418,
        3,34,17,0,415,417,5,65,0,0,416,415,1,0,0,0,417,420,1,0,0,0,418,416,
        1,0,0,0,418,419,1,0,0,0,419,422,1,0,0,0,420,418,1,0,0,0,421,407,
        1,0,0,0,422,425,1,0,0,0,423,421,1,0,0,0,423,424,1,0,0,0,424,426,
        1,0,0,0,425,423,1,0,0,0,426,427,5,59,0,0,427,33,1,0,0,0,428,430,
        7,4,0,0,429,428,1,0,0,0,429,430,1,0,0,0,430,431,1,0,0,0,431,432,
        5,55,0,0,432,35,1,0,0,0,433,439,5,49,0,0,434,439,5,50,0,0,435,439,
        5,51,0,0,436,437,5,52,0,0,437,439,5,55,0,0,438,433,1,0,0,0,438,434,
        1,0,0,0,438,435,1,0,0,0,438,436,1,0,0,0,439,37,1,0,0,0,440,441,5,
        31,0,0,441,443,3,52,26,0,442,444,3,40,20,0,443,442,1,0,0,0,443,444,
        1,0,0,0,444,39,1,0,0,0,445,446,5,33,0,0,446,447,3,54,27,0,447,41,
        1,0,0,0,448,449,5,34,0,0,449,452,3,54,27,0,450,451,5,35,0,0,451,
        453,3,54,27,0,452,450,1,0,0,0,452,453,1,0,0,0,453,43,1,0,0,0,454,
        455,5,23,0,0,455,460,3,46,23,0,456,457,5,57,0,0,457,459,3,46,23,
        0,458,456,1,0,0,0,459,462,1,0,0,0,460,458,1,0,0,0,460,461,1,0,0,
        0,461,45,1,0,0,0,462,460,1,0,0,0,463,466,5,54,0,0,464,465,5,61,0,
        0,465,467,5,54,0,0,466,464,1,0,0,0,466,467,1,0,0,0,467,47,1,0,0,
        0,468,469,5,43,0,0,469,470,3,52,26,0,470,49,1,0,0,0,471,472,7,5,
        0,0,472,51,1,0,0,0,473,475,5,61,0,0,474,473,1,0,0,0,474,475,1,0,
        0,0,475,476,1,0,0,0,476,477,5,54,0,0,477,53,1,0,0,0,478,480,5,61,
        0,0,479,478,1,0,0,0,479,480,1,0,0,0,480,481,1,0,0,0,481,482,5,54,
        0,0,482,55,1,0,0,0,483,485,5,61,0,0,484,483,1,0,0,0,484,485,1,0,
        0,0,485,486,1,0,0,0,486,487,5,54,0,0,487,57,1,0,0,0,488,490,5,61,
        0,0,489,488,1,0,0,0,489,490,1,0,0,0,490,491,1,0,0,0,491,492,5,54,
        0,0,492,59,1,0,0,0,65,63,69,78,81,90,92,100,109,118,125,132,139,
        144,150,160,167,174,181,186,193,202,209,216,223,228,233,248,251,
        253,268,274,276,283,292,294,299,301,312,318,324,330,340,349,352,
        367,373,379,382,386,388,397,404,411,418,423,429,438,443,452,460,
        466,474,479,484,489
    ]

class ESLParser ( Parser ):

    grammarFileName = "ESL.g4"

    atn = ATNDeserializer().deserialize(serializedATN())

    decisionsToDFA = [ DFA(ds, i) for i, ds in enumerate(atn.decisionToState) ]

    sharedContextCache = PredictionContextCache()

    literalNames = [ "<INVALID>", "'INCLUDE'", "'DECLARE'", "'ENTITY'", 
                     "'EXCEPTION_TYPE'", "'RESOURCE'", "'EXCEPTION'", "'DETECTION'", 
                     "'RECOVERY'", "'STEP'", "'JOB'", "'NODE'", "'HANDLER'", 
                     "'COUPLED'", "'LOG'", "'MATCH'", "'MULTIPLE'", "'ANY'", 
                     "'HANG'", "'SILENCE'", "'PROGRESS'", "'EXIT'", "'EXCEPT'", 
                     "'CODE'", "'SIGNAL'", "'DOWN'", "'DRAINED'", "'DISK'", 
                     "'INODES'", "'QUOTA'", "'ABOVE'", "'RECURRING'", "'TIMES'", 
                     "'WITHIN'", "'TIMEOUT'", "'WARMUP'", "'LIMIT'", "'BACKOFF'", 
                     "'ELSE'", "'FAIL'", "'PAUSE'", "'ESCALATE'", "'RAISE'", 
                     "'SEVERITY'", "'EXTERNAL'", "'PREDICTED'", "'CONFIDENCE'", 
                     "'BEFORE'", "'FAILURE'", "'stdout'", "'stderr'", "'output'", 
                     "'file'", "<INVALID>", "<INVALID>", "<INVALID>", "<INVALID>", 
                     "','", "'['", "']'", "'.'", "'-'", "'*'", "'?'", "'%'" ]

    symbolicNames = [ "<INVALID>", "INCLUDE", "DECLARE", "ENTITY", "EXCEPTION_TYPE", 
                      "RESOURCE", "EXCEPTION", "DETECTION", "RECOVERY", 
                      "STEP", "JOB", "NODE", "HANDLER", "COUPLED", "LOG", 
                      "MATCH", "MULTIPLE", "ANY", "HANG", "SILENCE", "PROGRESS", 
                      "EXIT", "EXCEPT", "CODE", "SIGNAL", "DOWN", "DRAINED", 
                      "DISK", "INODES", "QUOTA", "ABOVE", "RECURRING", "TIMES", 
                      "WITHIN", "TIMEOUT", "WARMUP", "LIMIT", "BACKOFF", 
                      "ELSE", "FAIL", "PAUSE", "ESCALATE", "RAISE", "SEVERITY", 
                      "EXTERNAL", "PREDICTED", "CONFIDENCE", "BEFORE", "FAILURE", 
                      "STDOUT", "STDERR", "OUTPUT", "FILE", "IDENTIFIER", 
                      "NUMBER", "STRING", "JSON_OBJECT", "COMMA", "OPEN", 
                      "CLOSE", "DOT", "DASH", "STAR", "QUESTION", "PERCENT", 
                      "NEWLINE", "CONTINUATION", "BLANK", "COMMENT", "INVALID" ]

    RULE_specification = 0
    RULE_line = 1
    RULE_statement = 2
    RULE_declaration = 3
    RULE_handling = 4
    RULE_entity = 5
    RULE_level = 6
    RULE_resource = 7
    RULE_operation = 8
    RULE_exceptionName = 9
    RULE_offer = 10
    RULE_job = 11
    RULE_word = 12
    RULE_clause = 13
    RULE_detection = 14
    RULE_pattern = 15
    RULE_patterns = 16
    RULE_listed = 17
    RULE_source = 18
    RULE_recurring = 19
    RULE_within = 20
    RULE_timer = 21
    RULE_codes = 22
    RULE_code = 23
    RULE_severity = 24
    RULE_signal = 25
    RULE_count = 26
    RULE_seconds = 27
    RULE_percent = 28
    RULE_confidence = 29

    ruleNames =  [ "specification", "line", "statement", "declaration", 
                   "handling", "entity", "level", "resource", "operation", 
                   "exceptionName", "offer", "job", "word", "clause", "detection", 
                   "pattern", "patterns", "listed", "source", "recurring", 
                   "within", "timer", "codes", "code", "severity", "signal", 
                   "count", "seconds", "percent", "confidence" ]

    EOF = Token.EOF
    INCLUDE=1
    DECLARE=2
    ENTITY=3
    EXCEPTION_TYPE=4
    RESOURCE=5
    EXCEPTION=6
    DETECTION=7
    RECOVERY=8
    STEP=9
    JOB=10
    NODE=11
    HANDLER=12
    COUPLED=13
    LOG=14
    MATCH=15
    MULTIPLE=16
    ANY=17
    HANG=18
    SILENCE=19
    PROGRESS=20
    EXIT=21
    EXCEPT=22
    CODE=23
    SIGNAL=24
    DOWN=25
    DRAINED=26
    DISK=27
    INODES=28
    QUOTA=29
    ABOVE=30
    RECURRING=31
    TIMES=32
    WITHIN=33
    TIMEOUT=34
    WARMUP=35
    LIMIT=36
    BACKOFF=37
    ELSE=38
    FAIL=39
    PAUSE=40
    ESCALATE=41
    RAISE=42
    SEVERITY=43
    EXTERNAL=44
    PREDICTED=45
    CONFIDENCE=46
    BEFORE=47
    FAILURE=48
    STDOUT=49
    STDERR=50
    OUTPUT=51
    FILE=52
    IDENTIFIER=53
    NUMBER=54
    STRING=55
    JSON_OBJECT=56
    COMMA=57
    OPEN=58
    CLOSE=59
    DOT=60
    DASH=61
    STAR=62
    QUESTION=63
    PERCENT=64
    NEWLINE=65
    CONTINUATION=66
    BLANK=67
    COMMENT=68
    INVALID=69

    def __init__(self, input:TokenStream, output:TextIO = sys.stdout):
        super().__init__(input, output)
        self.checkVersion("4.13.1")
        self._interp = ParserATNSimulator(self, self.atn, self.decisionsToDFA, self.sharedContextCache)
        self._predicates = None




    class SpecificationContext(ParserRuleContext):
        __slots__ = 'parser'

        def __init__(self, parser, parent:ParserRuleContext=None, invokingState:int=-1):
            super().__init__(parent, invokingState)
            self.parser = parser

        def EOF(self):
            return self.getToken(ESLParser.EOF, 0)

        def NEWLINE(self, i:int=None):
            if i is None:
                return self.getTokens(ESLParser.NEWLINE)
            else:
                return self.getToken(ESLParser.NEWLINE, i)

        def line(self, i:int=None):
            if i is None:
                return self.getTypedRuleContexts(ESLParser.LineContext)
            else:
                return self.getTypedRuleContext(ESLParser.LineContext,i)


        def getRuleIndex(self):
            return ESLParser.RULE_specification

        def accept(self, visitor:ParseTreeVisitor):
            if hasattr( visitor, "visitSpecification" ):
                return visitor.visitSpecification(self)
            else:
                return visitor.visitChildren(self)




    def specification(self):

        localctx = ESLParser.SpecificationContext(self, self._ctx, self.state)
        self.enterRule(localctx, 0, self.RULE_specification)
        self._la = 0 # Token type
        try:
            self.enterOuterAlt(localctx, 1)
            self.state = 63
            self._errHandler.sync(self)
            _la = self._input.LA(1)
            while _la==65:
                self.state = 60
                self.match(ESLParser.NEWLINE)
                self.state = 65
                self._errHandler.sync(self)
                _la = self._input.LA(1)

            self.state = 69
            self._errHandler.sync(self)
            _la = self._input.LA(1)
            while (((_la) & ~0x3f) == 0 and ((1 << _la) & 70) != 0):
                self.state = 66
                self.line()
                self.state = 71
                self._errHandler.sync(self)
                _la = self._input.LA(1)

            self.state = 72
            self.match(ESLParser.EOF)
        except RecognitionException as re:
            localctx.exception = re
            self._errHandler.reportError(self, re)
            self._errHandler.recover(self, re)
        finally:
            self.exitRule()
        return localctx


    class LineContext(ParserRuleContext):
        __slots__ = 'parser'

        def __init__(self, parser, parent:ParserRuleContext=None, invokingState:int=-1):
            super().__init__(parent, invokingState)
            self.parser = parser

        def statement(self):
            return self.getTypedRuleContext(ESLParser.StatementContext,0)


        def EOF(self):
            return self.getToken(ESLParser.EOF, 0)

        def NEWLINE(self, i:int=None):
            if i is None:
                return self.getTokens(ESLParser.NEWLINE)
            else:
                return self.getToken(ESLParser.NEWLINE, i)

        def getRuleIndex(self):
            return ESLParser.RULE_line

        def accept(self, visitor:ParseTreeVisitor):
            if hasattr( visitor, "visitLine" ):
                return visitor.visitLine(self)
            else:
                return visitor.visitChildren(self)




    def line(self):

        localctx = ESLParser.LineContext(self, self._ctx, self.state)
        self.enterRule(localctx, 2, self.RULE_line)
        self._la = 0 # Token type
        try:
            self.enterOuterAlt(localctx, 1)
            self.state = 74
            self.statement()
            self.state = 81
            self._errHandler.sync(self)
            token = self._input.LA(1)
            if token in [65]:
                self.state = 76 
                self._errHandler.sync(self)
                _la = self._input.LA(1)
                while True:
                    self.state = 75
                    self.match(ESLParser.NEWLINE)
                    self.state = 78 
                    self._errHandler.sync(self)
                    _la = self._input.LA(1)
                    if not (_la==65):
                        break

                pass
            elif token in [-1]:
                self.state = 80
                self.match(ESLParser.EOF)
                pass
            else:
                raise NoViableAltException(self)

        except RecognitionException as re:
            localctx.exception = re
            self._errHandler.reportError(self, re)
            self._errHandler.recover(self, re)
        finally:
            self.exitRule()
        return localctx


    class StatementContext(ParserRuleContext):
        __slots__ = 'parser'

        def __init__(self, parser, parent:ParserRuleContext=None, invokingState:int=-1):
            super().__init__(parent, invokingState)
            self.parser = parser

        def DECLARE(self):
            return self.getToken(ESLParser.DECLARE, 0)

        def declaration(self):
            return self.getTypedRuleContext(ESLParser.DeclarationContext,0)


        def EXCEPTION(self):
            return self.getToken(ESLParser.EXCEPTION, 0)

        def handling(self):
            return self.getTypedRuleContext(ESLParser.HandlingContext,0)


        def INCLUDE(self):
            return self.getToken(ESLParser.INCLUDE, 0)

        def STRING(self):
            return self.getToken(ESLParser.STRING, 0)

        def source(self):
            return self.getTypedRuleContext(ESLParser.SourceContext,0)


        def getRuleIndex(self):
            return ESLParser.RULE_statement

        def accept(self, visitor:ParseTreeVisitor):
            if hasattr( visitor, "visitStatement" ):
                return visitor.visitStatement(self)
            else:
                return visitor.visitChildren(self)




    def statement(self):

        localctx = ESLParser.StatementContext(self, self._ctx, self.state)
        self.enterRule(localctx, 4, self.RULE_statement)
        self._la = 0 # Token type
        try:
            self.state = 92
            self._errHandler.sync(self)
            token = self._input.LA(1)
            if token in [2]:
                self.enterOuterAlt(localctx, 1)
                self.state = 83
                self.match(ESLParser.DECLARE)
                self.state = 84
                self.declaration()
                pass
            elif token in [6]:
                self.enterOuterAlt(localctx, 2)
                self.state = 85
                self.match(ESLParser.EXCEPTION)
                self.state = 86
                self.handling()
                pass
            elif token in [1]:
                self.enterOuterAlt(localctx, 3)
                self.state = 87
                self.match(ESLParser.INCLUDE)
                self.state = 88
                self.match(ESLParser.STRING)
                self.state = 90
                self._errHandler.sync(self)
                _la = self._input.LA(1)
                if (((_la) & ~0x3f) == 0 and ((1 << _la) & 8444249301319680) != 0):
                    self.state = 89
                    self.source()


                pass
            else:
                raise NoViableAltException(self)

        except RecognitionException as re:
            localctx.exception = re
            self._errHandler.reportError(self, re)
            self._errHandler.recover(self, re)
        finally:
            self.exitRule()
        return localctx


    class DeclarationContext(ParserRuleContext):
        __slots__ = 'parser'

        def __init__(self, parser, parent:ParserRuleContext=None, invokingState:int=-1):
            super().__init__(parent, invokingState)
            self.parser = parser


        def getRuleIndex(self):
            return ESLParser.RULE_declaration

     
        def copyFrom(self, ctx:ParserRuleContext):
            super().copyFrom(ctx)



    class OffersContext(DeclarationContext):

        def __init__(self, parser, ctx:ParserRuleContext): # actually a ESLParser.DeclarationContext
            super().__init__(parser)
            self.copyFrom(ctx)

        def RESOURCE(self):
            return self.getToken(ESLParser.RESOURCE, 0)
        def resource(self):
            return self.getTypedRuleContext(ESLParser.ResourceContext,0)

        def OPEN(self):
            return self.getToken(ESLParser.OPEN, 0)
        def offer(self, i:int=None):
            if i is None:
                return self.getTypedRuleContexts(ESLParser.OfferContext)
            else:
                return self.getTypedRuleContext(ESLParser.OfferContext,i)

        def CLOSE(self):
            return self.getToken(ESLParser.CLOSE, 0)
        def NEWLINE(self, i:int=None):
            if i is None:
                return self.getTokens(ESLParser.NEWLINE)
            else:
                return self.getToken(ESLParser.NEWLINE, i)
        def COMMA(self, i:int=None):
            if i is None:
                return self.getTokens(ESLParser.COMMA)
            else:
                return self.getToken(ESLParser.COMMA, i)
        def HANDLER(self):
            return self.getToken(ESLParser.HANDLER, 0)
        def STRING(self):
            return self.getToken(ESLParser.STRING, 0)

        def accept(self, visitor:ParseTreeVisitor):
            if hasattr( visitor, "visitOffers" ):
                return visitor.visitOffers(self)
            else:
                return visitor.visitChildren(self)


    class DeclaredContext(DeclarationContext):

        def __init__(self, parser, ctx:ParserRuleContext): # actually a ESLParser.DeclarationContext
            super().__init__(parser)
            self.copyFrom(ctx)

        def EXCEPTION(self):
            return self.getToken(ESLParser.EXCEPTION, 0)
        def exceptionName(self):
            return self.getTypedRuleContext(ESLParser.ExceptionNameContext,0)

        def level(self):
            return self.getTypedRuleContext(ESLParser.LevelContext,0)

        def JOB(self):
            return self.getToken(ESLParser.JOB, 0)
        def OPEN(self):
            return self.getToken(ESLParser.OPEN, 0)
        def job(self, i:int=None):
            if i is None:
                return self.getTypedRuleContexts(ESLParser.JobContext)
            else:
                return self.getTypedRuleContext(ESLParser.JobContext,i)

        def CLOSE(self):
            return self.getToken(ESLParser.CLOSE, 0)
        def NEWLINE(self, i:int=None):
            if i is None:
                return self.getTokens(ESLParser.NEWLINE)
            else:
                return self.getToken(ESLParser.NEWLINE, i)
        def COMMA(self, i:int=None):
            if i is None:
                return self.getTokens(ESLParser.COMMA)
            else:
                return self.getToken(ESLParser.COMMA, i)
        def clause(self, i:int=None):
            if i is None:
                return self.getTypedRuleContexts(ESLParser.ClauseContext)
            else:
                return self.getTypedRuleContext(ESLParser.ClauseContext,i)


        def accept(self, visitor:ParseTreeVisitor):
            if hasattr( visitor, "visitDeclared" ):
                return visitor.visitDeclared(self)
            else:
                return visitor.visitChildren(self)


    class EntitiesContext(DeclarationContext):

        def __init__(self, parser, ctx:ParserRuleContext): # actually a ESLParser.DeclarationContext
            super().__init__(parser)
            self.copyFrom(ctx)

        def ENTITY(self):
            return self.getToken(ESLParser.ENTITY, 0)
        def entity(self, i:int=None):
            if i is None:
                return self.getTypedRuleContexts(ESLParser.EntityContext)
            else:
                return self.getTypedRuleContext(ESLParser.EntityContext,i)

        def COMMA(self, i:int=None):
            if i is None:
                return self.getTokens(ESLParser.COMMA)
            else:
                return self.getToken(ESLParser.COMMA, i)

        def accept(self, visitor:ParseTreeVisitor):
            if hasattr( visitor, "visitEntities" ):
                return visitor.visitEntities(self)
            else:
                return visitor.visitChildren(self)


    class CoupledContext(DeclarationContext):

        def __init__(self, parser, ctx:ParserRuleContext): # actually a ESLParser.DeclarationContext
            super().__init__(parser)
            self.copyFrom(ctx)

        def COUPLED(self):
            return self.getToken(ESLParser.COUPLED, 0)
        def JOB(self):
            return self.getToken(ESLParser.JOB, 0)
        def OPEN(self):
            return self.getToken(ESLParser.OPEN, 0)
        def job(self, i:int=None):
            if i is None:
                return self.getTypedRuleContexts(ESLParser.JobContext)
            else:
                return self.getTypedRuleContext(ESLParser.JobContext,i)

        def CLOSE(self):
            return self.getToken(ESLParser.CLOSE, 0)
        def NEWLINE(self, i:int=None):
            if i is None:
                return self.getTokens(ESLParser.NEWLINE)
            else:
                return self.getToken(ESLParser.NEWLINE, i)
        def COMMA(self, i:int=None):
            if i is None:
                return self.getTokens(ESLParser.COMMA)
            else:
                return self.getToken(ESLParser.COMMA, i)

        def accept(self, visitor:ParseTreeVisitor):
            if hasattr( visitor, "visitCoupled" ):
                return visitor.visitCoupled(self)
            else:
                return visitor.visitChildren(self)


    class LevelsContext(DeclarationContext):

        def __init__(self, parser, ctx:ParserRuleContext): # actually a ESLParser.DeclarationContext
            super().__init__(parser)
            self.copyFrom(ctx)

        def EXCEPTION_TYPE(self):
            return self.getToken(ESLParser.EXCEPTION_TYPE, 0)
        def level(self, i:int=None):
            if i is None:
                return self.getTypedRuleContexts(ESLParser.LevelContext)
            else:
                return self.getTypedRuleContext(ESLParser.LevelContext,i)

        def COMMA(self, i:int=None):
            if i is None:
                return self.getTokens(ESLParser.COMMA)
            else:
                return self.getToken(ESLParser.COMMA, i)

        def accept(self, visitor:ParseTreeVisitor):
            if hasattr( visitor, "visitLevels" ):
                return visitor.visitLevels(self)
            else:
                return visitor.visitChildren(self)



    def declaration(self):

        localctx = ESLParser.DeclarationContext(self, self._ctx, self.state)
        self.enterRule(localctx, 6, self.RULE_declaration)
        self._la = 0 # Token type
        try:
            self.state = 233
            self._errHandler.sync(self)
            token = self._input.LA(1)
            if token in [3]:
                localctx = ESLParser.EntitiesContext(self, localctx)
                self.enterOuterAlt(localctx, 1)
                self.state = 94
                self.match(ESLParser.ENTITY)
                self.state = 95
                self.entity()
                self.state = 100
                self._errHandler.sync(self)
                _la = self._input.LA(1)
                while _la==57:
                    self.state = 96
                    self.match(ESLParser.COMMA)
                    self.state = 97
                    self.entity()
                    self.state = 102
                    self._errHandler.sync(self)
                    _la = self._input.LA(1)

                pass
            elif token in [4]:
                localctx = ESLParser.LevelsContext(self, localctx)
                self.enterOuterAlt(localctx, 2)
                self.state = 103
                self.match(ESLParser.EXCEPTION_TYPE)
                self.state = 104
                self.level()
                self.state = 109
                self._errHandler.sync(self)
                _la = self._input.LA(1)
                while _la==57:
                    self.state = 105
                    self.match(ESLParser.COMMA)
                    self.state = 106
                    self.level()
                    self.state = 111
                    self._errHandler.sync(self)
                    _la = self._input.LA(1)

                pass
            elif token in [5]:
                localctx = ESLParser.OffersContext(self, localctx)
                self.enterOuterAlt(localctx, 3)
                self.state = 112
                self.match(ESLParser.RESOURCE)
                self.state = 113
                self.resource()
                self.state = 114
                self.match(ESLParser.OPEN)
                self.state = 118
                self._errHandler.sync(self)
                _la = self._input.LA(1)
                while _la==65:
                    self.state = 115
                    self.match(ESLParser.NEWLINE)
                    self.state = 120
                    self._errHandler.sync(self)
                    _la = self._input.LA(1)

                self.state = 121
                self.offer()
                self.state = 125
                self._errHandler.sync(self)
                _la = self._input.LA(1)
                while _la==65:
                    self.state = 122
                    self.match(ESLParser.NEWLINE)
                    self.state = 127
                    self._errHandler.sync(self)
                    _la = self._input.LA(1)

                self.state = 144
                self._errHandler.sync(self)
                _la = self._input.LA(1)
                while _la==57:
                    self.state = 128
                    self.match(ESLParser.COMMA)
                    self.state = 132
                    self._errHandler.sync(self)
                    _la = self._input.LA(1)
                    while _la==65:
                        self.state = 129
                        self.match(ESLParser.NEWLINE)
                        self.state = 134
                        self._errHandler.sync(self)
                        _la = self._input.LA(1)

                    self.state = 135
                    self.offer()
                    self.state = 139
                    self._errHandler.sync(self)
                    _la = self._input.LA(1)
                    while _la==65:
                        self.state = 136
                        self.match(ESLParser.NEWLINE)
                        self.state = 141
                        self._errHandler.sync(self)
                        _la = self._input.LA(1)

                    self.state = 146
                    self._errHandler.sync(self)
                    _la = self._input.LA(1)

                self.state = 147
                self.match(ESLParser.CLOSE)
                self.state = 150
                self._errHandler.sync(self)
                _la = self._input.LA(1)
                if _la==12:
                    self.state = 148
                    self.match(ESLParser.HANDLER)
                    self.state = 149
                    self.match(ESLParser.STRING)


                pass
            elif token in [6]:
                localctx = ESLParser.DeclaredContext(self, localctx)
                self.enterOuterAlt(localctx, 4)
                self.state = 152
                self.match(ESLParser.EXCEPTION)
                self.state = 153
                self.exceptionName()
                self.state = 154
                self.level()
                self.state = 155
                self.match(ESLParser.JOB)
                self.state = 156
                self.match(ESLParser.OPEN)
                self.state = 160
                self._errHandler.sync(self)
                _la = self._input.LA(1)
                while _la==65:
                    self.state = 157
                    self.match(ESLParser.NEWLINE)
                    self.state = 162
                    self._errHandler.sync(self)
                    _la = self._input.LA(1)

                self.state = 163
                self.job()
                self.state = 167
                self._errHandler.sync(self)
                _la = self._input.LA(1)
                while _la==65:
                    self.state = 164
                    self.match(ESLParser.NEWLINE)
                    self.state = 169
                    self._errHandler.sync(self)
                    _la = self._input.LA(1)

                self.state = 186
                self._errHandler.sync(self)
                _la = self._input.LA(1)
                while _la==57:
                    self.state = 170
                    self.match(ESLParser.COMMA)
                    self.state = 174
                    self._errHandler.sync(self)
                    _la = self._input.LA(1)
                    while _la==65:
                        self.state = 171
                        self.match(ESLParser.NEWLINE)
                        self.state = 176
                        self._errHandler.sync(self)
                        _la = self._input.LA(1)

                    self.state = 177
                    self.job()
                    self.state = 181
                    self._errHandler.sync(self)
                    _la = self._input.LA(1)
                    while _la==65:
                        self.state = 178
                        self.match(ESLParser.NEWLINE)
                        self.state = 183
                        self._errHandler.sync(self)
                        _la = self._input.LA(1)

                    self.state = 188
                    self._errHandler.sync(self)
                    _la = self._input.LA(1)

                self.state = 189
                self.match(ESLParser.CLOSE)
                self.state = 193
                self._errHandler.sync(self)
                _la = self._input.LA(1)
                while (((_la) & ~0x3f) == 0 and ((1 << _la) & 4879082848256) != 0):
                    self.state = 190
                    self.clause()
                    self.state = 195
                    self._errHandler.sync(self)
                    _la = self._input.LA(1)

                pass
            elif token in [13]:
                localctx = ESLParser.CoupledContext(self, localctx)
                self.enterOuterAlt(localctx, 5)
                self.state = 196
                self.match(ESLParser.COUPLED)
                self.state = 197
                self.match(ESLParser.JOB)
                self.state = 198
                self.match(ESLParser.OPEN)
                self.state = 202
                self._errHandler.sync(self)
                _la = self._input.LA(1)
                while _la==65:
                    self.state = 199
                    self.match(ESLParser.NEWLINE)
                    self.state = 204
                    self._errHandler.sync(self)
                    _la = self._input.LA(1)

                self.state = 205
                self.job()
                self.state = 209
                self._errHandler.sync(self)
                _la = self._input.LA(1)
                while _la==65:
                    self.state = 206
                    self.match(ESLParser.NEWLINE)
                    self.state = 211
                    self._errHandler.sync(self)
                    _la = self._input.LA(1)

                self.state = 228
                self._errHandler.sync(self)
                _la = self._input.LA(1)
                while _la==57:
                    self.state = 212
                    self.match(ESLParser.COMMA)
                    self.state = 216
                    self._errHandler.sync(self)
                    _la = self._input.LA(1)
                    while _la==65:
                        self.state = 213
                        self.match(ESLParser.NEWLINE)
                        self.state = 218
                        self._errHandler.sync(self)
                        _la = self._input.LA(1)

                    self.state = 219
                    self.job()
                    self.state = 223
                    self._errHandler.sync(self)
                    _la = self._input.LA(1)
                    while _la==65:
                        self.state = 220
                        self.match(ESLParser.NEWLINE)
                        self.state = 225
                        self._errHandler.sync(self)
                        _la = self._input.LA(1)

                    self.state = 230
                    self._errHandler.sync(self)
                    _la = self._input.LA(1)

                self.state = 231
                self.match(ESLParser.CLOSE)
                pass
            else:
                raise NoViableAltException(self)

        except RecognitionException as re:
            localctx.exception = re
            self._errHandler.reportError(self, re)
            self._errHandler.recover(self, re)
        finally:
            self.exitRule()
        return localctx


    class HandlingContext(ParserRuleContext):
        __slots__ = 'parser'

        def __init__(self, parser, parent:ParserRuleContext=None, invokingState:int=-1):
            super().__init__(parent, invokingState)
            self.parser = parser


        def getRuleIndex(self):
            return ESLParser.RULE_handling

     
        def copyFrom(self, ctx:ParserRuleContext):
            super().copyFrom(ctx)



    class RecoveredContext(HandlingContext):

        def __init__(self, parser, ctx:ParserRuleContext): # actually a ESLParser.HandlingContext
            super().__init__(parser)
            self.copyFrom(ctx)

        def RECOVERY(self):
            return self.getToken(ESLParser.RECOVERY, 0)
        def STEP(self):
            return self.getToken(ESLParser.STEP, 0)
        def exceptionName(self):
            return self.getTypedRuleContext(ESLParser.ExceptionNameContext,0)

        def entity(self):
            return self.getTypedRuleContext(ESLParser.EntityContext,0)

        def resource(self):
            return self.getTypedRuleContext(ESLParser.ResourceContext,0)

        def DOT(self):
            return self.getToken(ESLParser.DOT, 0)
        def operation(self):
            return self.getTypedRuleContext(ESLParser.OperationContext,0)

        def BEFORE(self):
            return self.getToken(ESLParser.BEFORE, 0)
        def FAILURE(self):
            return self.getToken(ESLParser.FAILURE, 0)
        def JSON_OBJECT(self):
            return self.getToken(ESLParser.JSON_OBJECT, 0)

        def accept(self, visitor:ParseTreeVisitor):
            if hasattr( visitor, "visitRecovered" ):
                return visitor.visitRecovered(self)
            else:
                return visitor.visitChildren(self)


    class DetectedContext(HandlingContext):

        def __init__(self, parser, ctx:ParserRuleContext): # actually a ESLParser.HandlingContext
            super().__init__(parser)
            self.copyFrom(ctx)

        def DETECTION(self):
            return self.getToken(ESLParser.DETECTION, 0)
        def exceptionName(self):
            return self.getTypedRuleContext(ESLParser.ExceptionNameContext,0)

        def detection(self):
            return self.getTypedRuleContext(ESLParser.DetectionContext,0)


        def accept(self, visitor:ParseTreeVisitor):
            if hasattr( visitor, "visitDetected" ):
                return visitor.visitDetected(self)
            else:
                return visitor.visitChildren(self)



    def handling(self):

        localctx = ESLParser.HandlingContext(self, self._ctx, self.state)
        self.enterRule(localctx, 8, self.RULE_handling)
        self._la = 0 # Token type
        try:
            self.state = 253
            self._errHandler.sync(self)
            token = self._input.LA(1)
            if token in [7]:
                localctx = ESLParser.DetectedContext(self, localctx)
                self.enterOuterAlt(localctx, 1)
                self.state = 235
                self.match(ESLParser.DETECTION)
                self.state = 236
                self.exceptionName()
                self.state = 237
                self.detection()
                pass
            elif token in [8]:
                localctx = ESLParser.RecoveredContext(self, localctx)
                self.enterOuterAlt(localctx, 2)
                self.state = 239
                self.match(ESLParser.RECOVERY)
                self.state = 240
                self.match(ESLParser.STEP)
                self.state = 241
                self.exceptionName()
                self.state = 242
                self.entity()
                self.state = 243
                self.resource()
                self.state = 244
                self.match(ESLParser.DOT)
                self.state = 245
                self.operation()
                self.state = 248
                self._errHandler.sync(self)
                _la = self._input.LA(1)
                if _la==47:
                    self.state = 246
                    self.match(ESLParser.BEFORE)
                    self.state = 247
                    self.match(ESLParser.FAILURE)


                self.state = 251
                self._errHandler.sync(self)
                _la = self._input.LA(1)
                if _la==56:
                    self.state = 250
                    self.match(ESLParser.JSON_OBJECT)


                pass
            else:
                raise NoViableAltException(self)

        except RecognitionException as re:
            localctx.exception = re
            self._errHandler.reportError(self, re)
            self._errHandler.recover(self, re)
        finally:
            self.exitRule()
        return localctx


    class EntityContext(ParserRuleContext):
        __slots__ = 'parser'

        def __init__(self, parser, parent:ParserRuleContext=None, invokingState:int=-1):
            super().__init__(parent, invokingState)
            self.parser = parser

        def word(self):
            return self.getTypedRuleContext(ESLParser.WordContext,0)


        def getRuleIndex(self):
            return ESLParser.RULE_entity

        def accept(self, visitor:ParseTreeVisitor):
            if hasattr( visitor, "visitEntity" ):
                return visitor.visitEntity(self)
            else:
                return visitor.visitChildren(self)




    def entity(self):

        localctx = ESLParser.EntityContext(self, self._ctx, self.state)
        self.enterRule(localctx, 10, self.RULE_entity)
        try:
            self.enterOuterAlt(localctx, 1)
            self.state = 255
            self.word()
        except RecognitionException as re:
            localctx.exception = re
            self._errHandler.reportError(self, re)
            self._errHandler.recover(self, re)
        finally:
            self.exitRule()
        return localctx


    class LevelContext(ParserRuleContext):
        __slots__ = 'parser'

        def __init__(self, parser, parent:ParserRuleContext=None, invokingState:int=-1):
            super().__init__(parent, invokingState)
            self.parser = parser

        def word(self):
            return self.getTypedRuleContext(ESLParser.WordContext,0)


        def getRuleIndex(self):
            return ESLParser.RULE_level

        def accept(self, visitor:ParseTreeVisitor):
            if hasattr( visitor, "visitLevel" ):
                return visitor.visitLevel(self)
            else:
                return visitor.visitChildren(self)




    def level(self):

        localctx = ESLParser.LevelContext(self, self._ctx, self.state)
        self.enterRule(localctx, 12, self.RULE_level)
        try:
            self.enterOuterAlt(localctx, 1)
            self.state = 257
            self.word()
        except RecognitionException as re:
            localctx.exception = re
            self._errHandler.reportError(self, re)
            self._errHandler.recover(self, re)
        finally:
            self.exitRule()
        return localctx


    class ResourceContext(ParserRuleContext):
        __slots__ = 'parser'

        def __init__(self, parser, parent:ParserRuleContext=None, invokingState:int=-1):
            super().__init__(parent, invokingState)
            self.parser = parser

        def word(self):
            return self.getTypedRuleContext(ESLParser.WordContext,0)


        def getRuleIndex(self):
            return ESLParser.RULE_resource

        def accept(self, visitor:ParseTreeVisitor):
            if hasattr( visitor, "visitResource" ):
                return visitor.visitResource(self)
            else:
                return visitor.visitChildren(self)




    def resource(self):

        localctx = ESLParser.ResourceContext(self, self._ctx, self.state)
        self.enterRule(localctx, 14, self.RULE_resource)
        try:
            self.enterOuterAlt(localctx, 1)
            self.state = 259
            self.word()
        except RecognitionException as re:
            localctx.exception = re
            self._errHandler.reportError(self, re)
            self._errHandler.recover(self, re)
        finally:
            self.exitRule()
        return localctx


    class OperationContext(ParserRuleContext):
        __slots__ = 'parser'

        def __init__(self, parser, parent:ParserRuleContext=None, invokingState:int=-1):
            super().__init__(parent, invokingState)
            self.parser = parser

        def word(self):
            return self.getTypedRuleContext(ESLParser.WordContext,0)


        def getRuleIndex(self):
            return ESLParser.RULE_operation

        def accept(self, visitor:ParseTreeVisitor):
            if hasattr( visitor, "visitOperation" ):
                return visitor.visitOperation(self)
            else:
                return visitor.visitChildren(self)




    def operation(self):

        localctx = ESLParser.OperationContext(self, self._ctx, self.state)
        self.enterRule(localctx, 16, self.RULE_operation)
        try:
            self.enterOuterAlt(localctx, 1)
            self.state = 261
            self.word()
        except RecognitionException as re:
            localctx.exception = re
            self._errHandler.reportError(self, re)
            self._errHandler.recover(self, re)
        finally:
            self.exitRule()
        return localctx


    class ExceptionNameContext(ParserRuleContext):
        __slots__ = 'parser'

        def __init__(self, parser, parent:ParserRuleContext=None, invokingState:int=-1):
            super().__init__(parent, invokingState)
            self.parser = parser

        def word(self):
            return self.getTypedRuleContext(ESLParser.WordContext,0)


        def getRuleIndex(self):
            return ESLParser.RULE_exceptionName

        def accept(self, visitor:ParseTreeVisitor):
            if hasattr( visitor, "visitExceptionName" ):
                return visitor.visitExceptionName(self)
            else:
                return visitor.visitChildren(self)




    def exceptionName(self):

        localctx = ESLParser.ExceptionNameContext(self, self._ctx, self.state)
        self.enterRule(localctx, 18, self.RULE_exceptionName)
        try:
            self.enterOuterAlt(localctx, 1)
            self.state = 263
            self.word()
        except RecognitionException as re:
            localctx.exception = re
            self._errHandler.reportError(self, re)
            self._errHandler.recover(self, re)
        finally:
            self.exitRule()
        return localctx


    class OfferContext(ParserRuleContext):
        __slots__ = 'parser'

        def __init__(self, parser, parent:ParserRuleContext=None, invokingState:int=-1):
            super().__init__(parent, invokingState)
            self.parser = parser

        def operation(self):
            return self.getTypedRuleContext(ESLParser.OperationContext,0)


        def HANDLER(self):
            return self.getToken(ESLParser.HANDLER, 0)

        def STRING(self):
            return self.getToken(ESLParser.STRING, 0)

        def getRuleIndex(self):
            return ESLParser.RULE_offer

        def accept(self, visitor:ParseTreeVisitor):
            if hasattr( visitor, "visitOffer" ):
                return visitor.visitOffer(self)
            else:
                return visitor.visitChildren(self)




    def offer(self):

        localctx = ESLParser.OfferContext(self, self._ctx, self.state)
        self.enterRule(localctx, 20, self.RULE_offer)
        self._la = 0 # Token type
        try:
            self.enterOuterAlt(localctx, 1)
            self.state = 265
            self.operation()
            self.state = 268
            self._errHandler.sync(self)
            _la = self._input.LA(1)
            if _la==12:
                self.state = 266
                self.match(ESLParser.HANDLER)
                self.state = 267
                self.match(ESLParser.STRING)


        except RecognitionException as re:
            localctx.exception = re
            self._errHandler.reportError(self, re)
            self._errHandler.recover(self, re)
        finally:
            self.exitRule()
        return localctx


    class JobContext(ParserRuleContext):
        __slots__ = 'parser'

        def __init__(self, parser, parent:ParserRuleContext=None, invokingState:int=-1):
            super().__init__(parent, invokingState)
            self.parser = parser

        def STRING(self, i:int=None):
            if i is None:
                return self.getTokens(ESLParser.STRING)
            else:
                return self.getToken(ESLParser.STRING, i)

        def JSON_OBJECT(self, i:int=None):
            if i is None:
                return self.getTokens(ESLParser.JSON_OBJECT)
            else:
                return self.getToken(ESLParser.JSON_OBJECT, i)

        def COMMA(self, i:int=None):
            if i is None:
                return self.getTokens(ESLParser.COMMA)
            else:
                return self.getToken(ESLParser.COMMA, i)

        def OPEN(self, i:int=None):
            if i is None:
                return self.getTokens(ESLParser.OPEN)
            else:
                return self.getToken(ESLParser.OPEN, i)

        def CLOSE(self, i:int=None):
            if i is None:
                return self.getTokens(ESLParser.CLOSE)
            else:
                return self.getToken(ESLParser.CLOSE, i)

        def PERCENT(self, i:int=None):
            if i is None:
                return self.getTokens(ESLParser.PERCENT)
            else:
                return self.getToken(ESLParser.PERCENT, i)

        def NEWLINE(self, i:int=None):
            if i is None:
                return self.getTokens(ESLParser.NEWLINE)
            else:
                return self.getToken(ESLParser.NEWLINE, i)

        def INVALID(self, i:int=None):
            if i is None:
                return self.getTokens(ESLParser.INVALID)
            else:
                return self.getToken(ESLParser.INVALID, i)

        def getRuleIndex(self):
            return ESLParser.RULE_job

        def accept(self, visitor:ParseTreeVisitor):
            if hasattr( visitor, "visitJob" ):
                return visitor.visitJob(self)
            else:
                return visitor.visitChildren(self)




    def job(self):

        localctx = ESLParser.JobContext(self, self._ctx, self.state)
        self.enterRule(localctx, 22, self.RULE_job)
        self._la = 0 # Token type
        try:
            self.state = 276
            self._errHandler.sync(self)
            token = self._input.LA(1)
            if token in [55]:
                self.enterOuterAlt(localctx, 1)
                self.state = 270
                self.match(ESLParser.STRING)
                pass
            elif token in [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43, 44, 45, 46, 47, 48, 49, 50, 51, 52, 53, 54, 60, 61, 62, 63, 66, 67, 68]:
                self.enterOuterAlt(localctx, 2)
                self.state = 272 
                self._errHandler.sync(self)
                _la = self._input.LA(1)
                while True:
                    self.state = 271
                    _la = self._input.LA(1)
                    if _la <= 0 or ((((_la - 55)) & ~0x3f) == 0 and ((1 << (_la - 55)) & 17951) != 0):
                        self._errHandler.recoverInline(self)
                    else:
                        self._errHandler.reportMatch(self)
                        self.consume()
                    self.state = 274 
                    self._errHandler.sync(self)
                    _la = self._input.LA(1)
                    if not ((((_la) & ~0x3f) == 0 and ((1 << _la) & -1116892707587883010) != 0) or ((((_la - 66)) & ~0x3f) == 0 and ((1 << (_la - 66)) & 7) != 0)):
                        break

                pass
            else:
                raise NoViableAltException(self)

        except RecognitionException as re:
            localctx.exception = re
            self._errHandler.reportError(self, re)
            self._errHandler.recover(self, re)
        finally:
            self.exitRule()
        return localctx


    class WordContext(ParserRuleContext):
        __slots__ = 'parser'

        def __init__(self, parser, parent:ParserRuleContext=None, invokingState:int=-1):
            super().__init__(parent, invokingState)
            self.parser = parser

        def IDENTIFIER(self):
            return self.getToken(ESLParser.IDENTIFIER, 0)

        def INCLUDE(self):
            return self.getToken(ESLParser.INCLUDE, 0)

        def DECLARE(self):
            return self.getToken(ESLParser.DECLARE, 0)

        def ENTITY(self):
            return self.getToken(ESLParser.ENTITY, 0)

        def EXCEPTION_TYPE(self):
            return self.getToken(ESLParser.EXCEPTION_TYPE, 0)

        def RESOURCE(self):
            return self.getToken(ESLParser.RESOURCE, 0)

        def EXCEPTION(self):
            return self.getToken(ESLParser.EXCEPTION, 0)

        def DETECTION(self):
            return self.getToken(ESLParser.DETECTION, 0)

        def RECOVERY(self):
            return self.getToken(ESLParser.RECOVERY, 0)

        def STEP(self):
            return self.getToken(ESLParser.STEP, 0)

        def JOB(self):
            return self.getToken(ESLParser.JOB, 0)

        def NODE(self):
            return self.getToken(ESLParser.NODE, 0)

        def HANDLER(self):
            return self.getToken(ESLParser.HANDLER, 0)

        def COUPLED(self):
            return self.getToken(ESLParser.COUPLED, 0)

        def LOG(self):
            return self.getToken(ESLParser.LOG, 0)

        def MATCH(self):
            return self.getToken(ESLParser.MATCH, 0)

        def MULTIPLE(self):
            return self.getToken(ESLParser.MULTIPLE, 0)

        def ANY(self):
            return self.getToken(ESLParser.ANY, 0)

        def HANG(self):
            return self.getToken(ESLParser.HANG, 0)

        def SILENCE(self):
            return self.getToken(ESLParser.SILENCE, 0)

        def PROGRESS(self):
            return self.getToken(ESLParser.PROGRESS, 0)

        def EXIT(self):
            return self.getToken(ESLParser.EXIT, 0)

        def EXCEPT(self):
            return self.getToken(ESLParser.EXCEPT, 0)

        def CODE(self):
            return self.getToken(ESLParser.CODE, 0)

        def SIGNAL(self):
            return self.getToken(ESLParser.SIGNAL, 0)

        def DOWN(self):
            return self.getToken(ESLParser.DOWN, 0)

        def DRAINED(self):
            return self.getToken(ESLParser.DRAINED, 0)

        def DISK(self):
            return self.getToken(ESLParser.DISK, 0)

        def INODES(self):
            return self.getToken(ESLParser.INODES, 0)

        def QUOTA(self):
            return self.getToken(ESLParser.QUOTA, 0)

        def ABOVE(self):
            return self.getToken(ESLParser.ABOVE, 0)

        def RECURRING(self):
            return self.getToken(ESLParser.RECURRING, 0)

        def TIMES(self):
            return self.getToken(ESLParser.TIMES, 0)

        def WITHIN(self):
            return self.getToken(ESLParser.WITHIN, 0)

        def TIMEOUT(self):
            return self.getToken(ESLParser.TIMEOUT, 0)

        def WARMUP(self):
            return self.getToken(ESLParser.WARMUP, 0)

        def LIMIT(self):
            return self.getToken(ESLParser.LIMIT, 0)

        def BACKOFF(self):
            return self.getToken(ESLParser.BACKOFF, 0)

        def ELSE(self):
            return self.getToken(ESLParser.ELSE, 0)

        def FAIL(self):
            return self.getToken(ESLParser.FAIL, 0)

        def PAUSE(self):
            return self.getToken(ESLParser.PAUSE, 0)

        def ESCALATE(self):
            return self.getToken(ESLParser.ESCALATE, 0)

        def RAISE(self):
            return self.getToken(ESLParser.RAISE, 0)

        def SEVERITY(self):
            return self.getToken(ESLParser.SEVERITY, 0)

        def EXTERNAL(self):
            return self.getToken(ESLParser.EXTERNAL, 0)

        def PREDICTED(self):
            return self.getToken(ESLParser.PREDICTED, 0)

        def CONFIDENCE(self):
            return self.getToken(ESLParser.CONFIDENCE, 0)

        def BEFORE(self):
            return self.getToken(ESLParser.BEFORE, 0)

        def FAILURE(self):
            return self.getToken(ESLParser.FAILURE, 0)

        def STDOUT(self):
            return self.getToken(ESLParser.STDOUT, 0)

        def STDERR(self):
            return self.getToken(ESLParser.STDERR, 0)

        def OUTPUT(self):
            return self.getToken(ESLParser.OUTPUT, 0)

        def FILE(self):
            return self.getToken(ESLParser.FILE, 0)

        def getRuleIndex(self):
            return ESLParser.RULE_word

        def accept(self, visitor:ParseTreeVisitor):
            if hasattr( visitor, "visitWord" ):
                return visitor.visitWord(self)
            else:
                return visitor.visitChildren(self)




    def word(self):

        localctx = ESLParser.WordContext(self, self._ctx, self.state)
        self.enterRule(localctx, 24, self.RULE_word)
        self._la = 0 # Token type
        try:
            self.enterOuterAlt(localctx, 1)
            self.state = 278
            _la = self._input.LA(1)
            if not((((_la) & ~0x3f) == 0 and ((1 << _la) & 18014398509481982) != 0)):
                self._errHandler.recoverInline(self)
            else:
                self._errHandler.reportMatch(self)
                self.consume()
        except RecognitionException as re:
            localctx.exception = re
            self._errHandler.reportError(self, re)
            self._errHandler.recover(self, re)
        finally:
            self.exitRule()
        return localctx


    class ClauseContext(ParserRuleContext):
        __slots__ = 'parser'

        def __init__(self, parser, parent:ParserRuleContext=None, invokingState:int=-1):
            super().__init__(parent, invokingState)
            self.parser = parser


        def getRuleIndex(self):
            return ESLParser.RULE_clause

     
        def copyFrom(self, ctx:ParserRuleContext):
            super().copyFrom(ctx)



    class OtherwiseContext(ClauseContext):

        def __init__(self, parser, ctx:ParserRuleContext): # actually a ESLParser.ClauseContext
            super().__init__(parser)
            self.copyFrom(ctx)

        def ELSE(self):
            return self.getToken(ESLParser.ELSE, 0)
        def FAIL(self):
            return self.getToken(ESLParser.FAIL, 0)
        def PAUSE(self):
            return self.getToken(ESLParser.PAUSE, 0)
        def ESCALATE(self):
            return self.getToken(ESLParser.ESCALATE, 0)
        def exceptionName(self):
            return self.getTypedRuleContext(ESLParser.ExceptionNameContext,0)


        def accept(self, visitor:ParseTreeVisitor):
            if hasattr( visitor, "visitOtherwise" ):
                return visitor.visitOtherwise(self)
            else:
                return visitor.visitChildren(self)


    class BackoffContext(ClauseContext):

        def __init__(self, parser, ctx:ParserRuleContext): # actually a ESLParser.ClauseContext
            super().__init__(parser)
            self.copyFrom(ctx)

        def BACKOFF(self):
            return self.getToken(ESLParser.BACKOFF, 0)
        def seconds(self):
            return self.getTypedRuleContext(ESLParser.SecondsContext,0)


        def accept(self, visitor:ParseTreeVisitor):
            if hasattr( visitor, "visitBackoff" ):
                return visitor.visitBackoff(self)
            else:
                return visitor.visitChildren(self)


    class LimitContext(ClauseContext):

        def __init__(self, parser, ctx:ParserRuleContext): # actually a ESLParser.ClauseContext
            super().__init__(parser)
            self.copyFrom(ctx)

        def LIMIT(self):
            return self.getToken(ESLParser.LIMIT, 0)
        def count(self):
            return self.getTypedRuleContext(ESLParser.CountContext,0)

        def within(self):
            return self.getTypedRuleContext(ESLParser.WithinContext,0)


        def accept(self, visitor:ParseTreeVisitor):
            if hasattr( visitor, "visitLimit" ):
                return visitor.visitLimit(self)
            else:
                return visitor.visitChildren(self)


    class RaiseContext(ClauseContext):

        def __init__(self, parser, ctx:ParserRuleContext): # actually a ESLParser.ClauseContext
            super().__init__(parser)
            self.copyFrom(ctx)

        def RAISE(self):
            return self.getToken(ESLParser.RAISE, 0)
        def STRING(self):
            return self.getToken(ESLParser.STRING, 0)
        def severity(self):
            return self.getTypedRuleContext(ESLParser.SeverityContext,0)


        def accept(self, visitor:ParseTreeVisitor):
            if hasattr( visitor, "visitRaise" ):
                return visitor.visitRaise(self)
            else:
                return visitor.visitChildren(self)



    def clause(self):

        localctx = ESLParser.ClauseContext(self, self._ctx, self.state)
        self.enterRule(localctx, 26, self.RULE_clause)
        self._la = 0 # Token type
        try:
            self.state = 301
            self._errHandler.sync(self)
            token = self._input.LA(1)
            if token in [36]:
                localctx = ESLParser.LimitContext(self, localctx)
                self.enterOuterAlt(localctx, 1)
                self.state = 280
                self.match(ESLParser.LIMIT)
                self.state = 281
                self.count()
                self.state = 283
                self._errHandler.sync(self)
                _la = self._input.LA(1)
                if _la==33:
                    self.state = 282
                    self.within()


                pass
            elif token in [37]:
                localctx = ESLParser.BackoffContext(self, localctx)
                self.enterOuterAlt(localctx, 2)
                self.state = 285
                self.match(ESLParser.BACKOFF)
                self.state = 286
                self.seconds()
                pass
            elif token in [38]:
                localctx = ESLParser.OtherwiseContext(self, localctx)
                self.enterOuterAlt(localctx, 3)
                self.state = 287
                self.match(ESLParser.ELSE)
                self.state = 294
                self._errHandler.sync(self)
                token = self._input.LA(1)
                if token in [39]:
                    self.state = 288
                    self.match(ESLParser.FAIL)
                    pass
                elif token in [40]:
                    self.state = 289
                    self.match(ESLParser.PAUSE)
                    pass
                elif token in [41]:
                    self.state = 290
                    self.match(ESLParser.ESCALATE)
                    self.state = 292
                    self._errHandler.sync(self)
                    la_ = self._interp.adaptivePredict(self._input,33,self._ctx)
                    if la_ == 1:
                        self.state = 291
                        self.exceptionName()


                    pass
                else:
                    raise NoViableAltException(self)

                pass
            elif token in [42]:
                localctx = ESLParser.RaiseContext(self, localctx)
                self.enterOuterAlt(localctx, 4)
                self.state = 296
                self.match(ESLParser.RAISE)
                self.state = 297
                self.match(ESLParser.STRING)
                self.state = 299
                self._errHandler.sync(self)
                _la = self._input.LA(1)
                if _la==43:
                    self.state = 298
                    self.severity()


                pass
            else:
                raise NoViableAltException(self)

        except RecognitionException as re:
            localctx.exception = re
            self._errHandler.reportError(self, re)
            self._errHandler.recover(self, re)
        finally:
            self.exitRule()
        return localctx


    class DetectionContext(ParserRuleContext):
        __slots__ = 'parser'

        def __init__(self, parser, parent:ParserRuleContext=None, invokingState:int=-1):
            super().__init__(parent, invokingState)
            self.parser = parser


        def getRuleIndex(self):
            return ESLParser.RULE_detection

     
        def copyFrom(self, ctx:ParserRuleContext):
            super().copyFrom(ctx)



    class HangContext(DetectionContext):

        def __init__(self, parser, ctx:ParserRuleContext): # actually a ESLParser.DetectionContext
            super().__init__(parser)
            self.copyFrom(ctx)

        def HANG(self):
            return self.getToken(ESLParser.HANG, 0)
        def pattern(self):
            return self.getTypedRuleContext(ESLParser.PatternContext,0)

        def source(self):
            return self.getTypedRuleContext(ESLParser.SourceContext,0)

        def timer(self):
            return self.getTypedRuleContext(ESLParser.TimerContext,0)


        def accept(self, visitor:ParseTreeVisitor):
            if hasattr( visitor, "visitHang" ):
                return visitor.visitHang(self)
            else:
                return visitor.visitChildren(self)


    class LogContext(DetectionContext):

        def __init__(self, parser, ctx:ParserRuleContext): # actually a ESLParser.DetectionContext
            super().__init__(parser)
            self.copyFrom(ctx)

        def pattern(self):
            return self.getTypedRuleContext(ESLParser.PatternContext,0)

        def source(self):
            return self.getTypedRuleContext(ESLParser.SourceContext,0)

        def recurring(self):
            return self.getTypedRuleContext(ESLParser.RecurringContext,0)

        def timer(self):
            return self.getTypedRuleContext(ESLParser.TimerContext,0)


        def accept(self, visitor:ParseTreeVisitor):
            if hasattr( visitor, "visitLog" ):
                return visitor.visitLog(self)
            else:
                return visitor.visitChildren(self)


    class JobExceptionContext(DetectionContext):

        def __init__(self, parser, ctx:ParserRuleContext): # actually a ESLParser.DetectionContext
            super().__init__(parser)
            self.copyFrom(ctx)

        def JOB(self):
            return self.getToken(ESLParser.JOB, 0)
        def EXCEPTION(self):
            return self.getToken(ESLParser.EXCEPTION, 0)
        def STRING(self):
            return self.getToken(ESLParser.STRING, 0)
        def severity(self):
            return self.getTypedRuleContext(ESLParser.SeverityContext,0)


        def accept(self, visitor:ParseTreeVisitor):
            if hasattr( visitor, "visitJobException" ):
                return visitor.visitJobException(self)
            else:
                return visitor.visitChildren(self)


    class MultipleContext(DetectionContext):

        def __init__(self, parser, ctx:ParserRuleContext): # actually a ESLParser.DetectionContext
            super().__init__(parser)
            self.copyFrom(ctx)

        def MULTIPLE(self):
            return self.getToken(ESLParser.MULTIPLE, 0)
        def patterns(self):
            return self.getTypedRuleContext(ESLParser.PatternsContext,0)

        def source(self):
            return self.getTypedRuleContext(ESLParser.SourceContext,0)

        def within(self):
            return self.getTypedRuleContext(ESLParser.WithinContext,0)


        def accept(self, visitor:ParseTreeVisitor):
            if hasattr( visitor, "visitMultiple" ):
                return visitor.visitMultiple(self)
            else:
                return visitor.visitChildren(self)


    class AnyOfContext(DetectionContext):

        def __init__(self, parser, ctx:ParserRuleContext): # actually a ESLParser.DetectionContext
            super().__init__(parser)
            self.copyFrom(ctx)

        def ANY(self):
            return self.getToken(ESLParser.ANY, 0)
        def patterns(self):
            return self.getTypedRuleContext(ESLParser.PatternsContext,0)

        def source(self):
            return self.getTypedRuleContext(ESLParser.SourceContext,0)

        def recurring(self):
            return self.getTypedRuleContext(ESLParser.RecurringContext,0)


        def accept(self, visitor:ParseTreeVisitor):
            if hasattr( visitor, "visitAnyOf" ):
                return visitor.visitAnyOf(self)
            else:
                return visitor.visitChildren(self)


    class ExitContext(DetectionContext):

        def __init__(self, parser, ctx:ParserRuleContext): # actually a ESLParser.DetectionContext
            super().__init__(parser)
            self.copyFrom(ctx)

        def EXIT(self):
            return self.getToken(ESLParser.EXIT, 0)
        def ANY(self):
            return self.getToken(ESLParser.ANY, 0)
        def codes(self):
            return self.getTypedRuleContext(ESLParser.CodesContext,0)

        def SIGNAL(self):
            return self.getToken(ESLParser.SIGNAL, 0)
        def signal(self, i:int=None):
            if i is None:
                return self.getTypedRuleContexts(ESLParser.SignalContext)
            else:
                return self.getTypedRuleContext(ESLParser.SignalContext,i)

        def EXCEPT(self):
            return self.getToken(ESLParser.EXCEPT, 0)
        def COMMA(self, i:int=None):
            if i is None:
                return self.getTokens(ESLParser.COMMA)
            else:
                return self.getToken(ESLParser.COMMA, i)

        def accept(self, visitor:ParseTreeVisitor):
            if hasattr( visitor, "visitExit" ):
                return visitor.visitExit(self)
            else:
                return visitor.visitChildren(self)


    class NodeContext(DetectionContext):

        def __init__(self, parser, ctx:ParserRuleContext): # actually a ESLParser.DetectionContext
            super().__init__(parser)
            self.copyFrom(ctx)

        def NODE(self):
            return self.getToken(ESLParser.NODE, 0)
        def DOWN(self):
            return self.getToken(ESLParser.DOWN, 0)
        def DRAINED(self):
            return self.getToken(ESLParser.DRAINED, 0)

        def accept(self, visitor:ParseTreeVisitor):
            if hasattr( visitor, "visitNode" ):
                return visitor.visitNode(self)
            else:
                return visitor.visitChildren(self)


    class DiskContext(DetectionContext):

        def __init__(self, parser, ctx:ParserRuleContext): # actually a ESLParser.DetectionContext
            super().__init__(parser)
            self.copyFrom(ctx)

        def STRING(self):
            return self.getToken(ESLParser.STRING, 0)
        def ABOVE(self):
            return self.getToken(ESLParser.ABOVE, 0)
        def percent(self):
            return self.getTypedRuleContext(ESLParser.PercentContext,0)

        def PERCENT(self):
            return self.getToken(ESLParser.PERCENT, 0)
        def DISK(self):
            return self.getToken(ESLParser.DISK, 0)
        def INODES(self):
            return self.getToken(ESLParser.INODES, 0)
        def QUOTA(self):
            return self.getToken(ESLParser.QUOTA, 0)

        def accept(self, visitor:ParseTreeVisitor):
            if hasattr( visitor, "visitDisk" ):
                return visitor.visitDisk(self)
            else:
                return visitor.visitChildren(self)


    class ExternalContext(DetectionContext):

        def __init__(self, parser, ctx:ParserRuleContext): # actually a ESLParser.DetectionContext
            super().__init__(parser)
            self.copyFrom(ctx)

        def EXTERNAL(self):
            return self.getToken(ESLParser.EXTERNAL, 0)

        def accept(self, visitor:ParseTreeVisitor):
            if hasattr( visitor, "visitExternal" ):
                return visitor.visitExternal(self)
            else:
                return visitor.visitChildren(self)


    class ProgressContext(DetectionContext):

        def __init__(self, parser, ctx:ParserRuleContext): # actually a ESLParser.DetectionContext
            super().__init__(parser)
            self.copyFrom(ctx)

        def PROGRESS(self):
            return self.getToken(ESLParser.PROGRESS, 0)
        def STRING(self):
            return self.getToken(ESLParser.STRING, 0)
        def source(self):
            return self.getTypedRuleContext(ESLParser.SourceContext,0)

        def timer(self):
            return self.getTypedRuleContext(ESLParser.TimerContext,0)

        def MATCH(self):
            return self.getToken(ESLParser.MATCH, 0)

        def accept(self, visitor:ParseTreeVisitor):
            if hasattr( visitor, "visitProgress" ):
                return visitor.visitProgress(self)
            else:
                return visitor.visitChildren(self)


    class CountedContext(DetectionContext):

        def __init__(self, parser, ctx:ParserRuleContext): # actually a ESLParser.DetectionContext
            super().__init__(parser)
            self.copyFrom(ctx)

        def EXCEPTION(self):
            return self.getToken(ESLParser.EXCEPTION, 0)
        def exceptionName(self):
            return self.getTypedRuleContext(ESLParser.ExceptionNameContext,0)

        def count(self):
            return self.getTypedRuleContext(ESLParser.CountContext,0)

        def TIMES(self):
            return self.getToken(ESLParser.TIMES, 0)
        def within(self):
            return self.getTypedRuleContext(ESLParser.WithinContext,0)


        def accept(self, visitor:ParseTreeVisitor):
            if hasattr( visitor, "visitCounted" ):
                return visitor.visitCounted(self)
            else:
                return visitor.visitChildren(self)


    class SilenceContext(DetectionContext):

        def __init__(self, parser, ctx:ParserRuleContext): # actually a ESLParser.DetectionContext
            super().__init__(parser)
            self.copyFrom(ctx)

        def SILENCE(self):
            return self.getToken(ESLParser.SILENCE, 0)
        def timer(self):
            return self.getTypedRuleContext(ESLParser.TimerContext,0)


        def accept(self, visitor:ParseTreeVisitor):
            if hasattr( visitor, "visitSilence" ):
                return visitor.visitSilence(self)
            else:
                return visitor.visitChildren(self)


    class PredictedContext(DetectionContext):

        def __init__(self, parser, ctx:ParserRuleContext): # actually a ESLParser.DetectionContext
            super().__init__(parser)
            self.copyFrom(ctx)

        def PREDICTED(self):
            return self.getToken(ESLParser.PREDICTED, 0)
        def NODE(self):
            return self.getToken(ESLParser.NODE, 0)
        def STRING(self):
            return self.getToken(ESLParser.STRING, 0)
        def within(self):
            return self.getTypedRuleContext(ESLParser.WithinContext,0)

        def CONFIDENCE(self):
            return self.getToken(ESLParser.CONFIDENCE, 0)
        def confidence(self):
            return self.getTypedRuleContext(ESLParser.ConfidenceContext,0)


        def accept(self, visitor:ParseTreeVisitor):
            if hasattr( visitor, "visitPredicted" ):
                return visitor.visitPredicted(self)
            else:
                return visitor.visitChildren(self)



    def detection(self):

        localctx = ESLParser.DetectionContext(self, self._ctx, self.state)
        self.enterRule(localctx, 28, self.RULE_detection)
        self._la = 0 # Token type
        try:
            self.state = 388
            self._errHandler.sync(self)
            token = self._input.LA(1)
            if token in [18]:
                localctx = ESLParser.HangContext(self, localctx)
                self.enterOuterAlt(localctx, 1)
                self.state = 303
                self.match(ESLParser.HANG)
                self.state = 304
                self.pattern()
                self.state = 305
                self.source()
                self.state = 306
                self.timer()
                pass
            elif token in [14, 15]:
                localctx = ESLParser.LogContext(self, localctx)
                self.enterOuterAlt(localctx, 2)
                self.state = 308
                self.pattern()
                self.state = 309
                self.source()
                self.state = 312
                self._errHandler.sync(self)
                token = self._input.LA(1)
                if token in [31]:
                    self.state = 310
                    self.recurring()
                    pass
                elif token in [34]:
                    self.state = 311
                    self.timer()
                    pass
                elif token in [-1, 65]:
                    pass
                else:
                    pass
                pass
            elif token in [16]:
                localctx = ESLParser.MultipleContext(self, localctx)
                self.enterOuterAlt(localctx, 3)
                self.state = 314
                self.match(ESLParser.MULTIPLE)
                self.state = 315
                self.patterns()
                self.state = 316
                self.source()
                self.state = 318
                self._errHandler.sync(self)
                _la = self._input.LA(1)
                if _la==33:
                    self.state = 317
                    self.within()


                pass
            elif token in [17]:
                localctx = ESLParser.AnyOfContext(self, localctx)
                self.enterOuterAlt(localctx, 4)
                self.state = 320
                self.match(ESLParser.ANY)
                self.state = 321
                self.patterns()
                self.state = 322
                self.source()
                self.state = 324
                self._errHandler.sync(self)
                _la = self._input.LA(1)
                if _la==31:
                    self.state = 323
                    self.recurring()


                pass
            elif token in [19]:
                localctx = ESLParser.SilenceContext(self, localctx)
                self.enterOuterAlt(localctx, 5)
                self.state = 326
                self.match(ESLParser.SILENCE)
                self.state = 327
                self.timer()
                pass
            elif token in [20]:
                localctx = ESLParser.ProgressContext(self, localctx)
                self.enterOuterAlt(localctx, 6)
                self.state = 328
                self.match(ESLParser.PROGRESS)
                self.state = 330
                self._errHandler.sync(self)
                _la = self._input.LA(1)
                if _la==15:
                    self.state = 329
                    self.match(ESLParser.MATCH)


                self.state = 332
                self.match(ESLParser.STRING)
                self.state = 333
                self.source()
                self.state = 334
                self.timer()
                pass
            elif token in [21]:
                localctx = ESLParser.ExitContext(self, localctx)
                self.enterOuterAlt(localctx, 7)
                self.state = 336
                self.match(ESLParser.EXIT)
                self.state = 352
                self._errHandler.sync(self)
                token = self._input.LA(1)
                if token in [17]:
                    self.state = 337
                    self.match(ESLParser.ANY)
                    self.state = 340
                    self._errHandler.sync(self)
                    _la = self._input.LA(1)
                    if _la==22:
                        self.state = 338
                        self.match(ESLParser.EXCEPT)
                        self.state = 339
                        self.codes()


                    pass
                elif token in [23]:
                    self.state = 342
                    self.codes()
                    pass
                elif token in [24]:
                    self.state = 343
                    self.match(ESLParser.SIGNAL)
                    self.state = 344
                    self.signal()
                    self.state = 349
                    self._errHandler.sync(self)
                    _la = self._input.LA(1)
                    while _la==57:
                        self.state = 345
                        self.match(ESLParser.COMMA)
                        self.state = 346
                        self.signal()
                        self.state = 351
                        self._errHandler.sync(self)
                        _la = self._input.LA(1)

                    pass
                else:
                    raise NoViableAltException(self)

                pass
            elif token in [11]:
                localctx = ESLParser.NodeContext(self, localctx)
                self.enterOuterAlt(localctx, 8)
                self.state = 354
                self.match(ESLParser.NODE)
                self.state = 355
                _la = self._input.LA(1)
                if not(_la==25 or _la==26):
                    self._errHandler.recoverInline(self)
                else:
                    self._errHandler.reportMatch(self)
                    self.consume()
                pass
            elif token in [27, 28, 29]:
                localctx = ESLParser.DiskContext(self, localctx)
                self.enterOuterAlt(localctx, 9)
                self.state = 356
                _la = self._input.LA(1)
                if not((((_la) & ~0x3f) == 0 and ((1 << _la) & 939524096) != 0)):
                    self._errHandler.recoverInline(self)
                else:
                    self._errHandler.reportMatch(self)
                    self.consume()
                self.state = 357
                self.match(ESLParser.STRING)
                self.state = 358
                self.match(ESLParser.ABOVE)
                self.state = 359
                self.percent()
                self.state = 360
                self.match(ESLParser.PERCENT)
                pass
            elif token in [6]:
                localctx = ESLParser.CountedContext(self, localctx)
                self.enterOuterAlt(localctx, 10)
                self.state = 362
                self.match(ESLParser.EXCEPTION)
                self.state = 363
                self.exceptionName()
                self.state = 364
                self.count()
                self.state = 365
                self.match(ESLParser.TIMES)
                self.state = 367
                self._errHandler.sync(self)
                _la = self._input.LA(1)
                if _la==33:
                    self.state = 366
                    self.within()


                pass
            elif token in [10]:
                localctx = ESLParser.JobExceptionContext(self, localctx)
                self.enterOuterAlt(localctx, 11)
                self.state = 369
                self.match(ESLParser.JOB)
                self.state = 370
                self.match(ESLParser.EXCEPTION)
                self.state = 371
                self.match(ESLParser.STRING)
                self.state = 373
                self._errHandler.sync(self)
                _la = self._input.LA(1)
                if _la==43:
                    self.state = 372
                    self.severity()


                pass
            elif token in [44]:
                localctx = ESLParser.ExternalContext(self, localctx)
                self.enterOuterAlt(localctx, 12)
                self.state = 375
                self.match(ESLParser.EXTERNAL)
                pass
            elif token in [45]:
                localctx = ESLParser.PredictedContext(self, localctx)
                self.enterOuterAlt(localctx, 13)
                self.state = 376
                self.match(ESLParser.PREDICTED)
                self.state = 379
                self._errHandler.sync(self)
                _la = self._input.LA(1)
                if _la==11:
                    self.state = 377
                    self.match(ESLParser.NODE)
                    self.state = 378
                    self.match(ESLParser.STRING)


                self.state = 382
                self._errHandler.sync(self)
                _la = self._input.LA(1)
                if _la==33:
                    self.state = 381
                    self.within()


                self.state = 386
                self._errHandler.sync(self)
                _la = self._input.LA(1)
                if _la==46:
                    self.state = 384
                    self.match(ESLParser.CONFIDENCE)
                    self.state = 385
                    self.confidence()


                pass
            else:
                raise NoViableAltException(self)

        except RecognitionException as re:
            localctx.exception = re
            self._errHandler.reportError(self, re)
            self._errHandler.recover(self, re)
        finally:
            self.exitRule()
        return localctx


    class PatternContext(ParserRuleContext):
        __slots__ = 'parser'

        def __init__(self, parser, parent:ParserRuleContext=None, invokingState:int=-1):
            super().__init__(parent, invokingState)
            self.parser = parser

        def STRING(self):
            return self.getToken(ESLParser.STRING, 0)

        def LOG(self):
            return self.getToken(ESLParser.LOG, 0)

        def MATCH(self):
            return self.getToken(ESLParser.MATCH, 0)

        def getRuleIndex(self):
            return ESLParser.RULE_pattern

        def accept(self, visitor:ParseTreeVisitor):
            if hasattr( visitor, "visitPattern" ):
                return visitor.visitPattern(self)
            else:
                return visitor.visitChildren(self)




    def pattern(self):

        localctx = ESLParser.PatternContext(self, self._ctx, self.state)
        self.enterRule(localctx, 30, self.RULE_pattern)
        self._la = 0 # Token type
        try:
            self.enterOuterAlt(localctx, 1)
            self.state = 390
            _la = self._input.LA(1)
            if not(_la==14 or _la==15):
                self._errHandler.recoverInline(self)
            else:
                self._errHandler.reportMatch(self)
                self.consume()
            self.state = 391
            self.match(ESLParser.STRING)
        except RecognitionException as re:
            localctx.exception = re
            self._errHandler.reportError(self, re)
            self._errHandler.recover(self, re)
        finally:
            self.exitRule()
        return localctx


    class PatternsContext(ParserRuleContext):
        __slots__ = 'parser'

        def __init__(self, parser, parent:ParserRuleContext=None, invokingState:int=-1):
            super().__init__(parent, invokingState)
            self.parser = parser

        def OPEN(self):
            return self.getToken(ESLParser.OPEN, 0)

        def listed(self, i:int=None):
            if i is None:
                return self.getTypedRuleContexts(ESLParser.ListedContext)
            else:
                return self.getTypedRuleContext(ESLParser.ListedContext,i)


        def CLOSE(self):
            return self.getToken(ESLParser.CLOSE, 0)

        def NEWLINE(self, i:int=None):
            if i is None:
                return self.getTokens(ESLParser.NEWLINE)
            else:
                return self.getToken(ESLParser.NEWLINE, i)

        def COMMA(self, i:int=None):
            if i is None:
                return self.getTokens(ESLParser.COMMA)
            else:
                return self.getToken(ESLParser.COMMA, i)

        def getRuleIndex(self):
            return ESLParser.RULE_patterns

        def accept(self, visitor:ParseTreeVisitor):
            if hasattr( visitor, "visitPatterns" ):
                return visitor.visitPatterns(self)
            else:
                return visitor.visitChildren(self)




    def patterns(self):

        localctx = ESLParser.PatternsContext(self, self._ctx, self.state)
        self.enterRule(localctx, 32, self.RULE_patterns)
        self._la = 0 # Token type
        try:
            self.enterOuterAlt(localctx, 1)
            self.state = 393
            self.match(ESLParser.OPEN)
            self.state = 397
            self._errHandler.sync(self)
            _la = self._input.LA(1)
            while _la==65:
                self.state = 394
                self.match(ESLParser.NEWLINE)
                self.state = 399
                self._errHandler.sync(self)
                _la = self._input.LA(1)

            self.state = 400
            self.listed()
            self.state = 404
            self._errHandler.sync(self)
            _la = self._input.LA(1)
            while _la==65:
                self.state = 401
                self.match(ESLParser.NEWLINE)
                self.state = 406
                self._errHandler.sync(self)
                _la = self._input.LA(1)

            self.state = 423
            self._errHandler.sync(self)
            _la = self._input.LA(1)
            while _la==57:
                self.state = 407
                self.match(ESLParser.COMMA)
                self.state = 411
                self._errHandler.sync(self)
                _la = self._input.LA(1)
                while _la==65:
                    self.state = 408
                    self.match(ESLParser.NEWLINE)
                    self.state = 413
                    self._errHandler.sync(self)
                    _la = self._input.LA(1)

                self.state = 414
                self.listed()
                self.state = 418
                self._errHandler.sync(self)
                _la = self._input.LA(1)
                while _la==65:
                    self.state = 415
                    self.match(ESLParser.NEWLINE)
                    self.state = 420
                    self._errHandler.sync(self)
                    _la = self._input.LA(1)

                self.state = 425
                self._errHandler.sync(self)
                _la = self._input.LA(1)

            self.state = 426
            self.match(ESLParser.CLOSE)
        except RecognitionException as re:
            localctx.exception = re
            self._errHandler.reportError(self, re)
            self._errHandler.recover(self, re)
        finally:
            self.exitRule()
        return localctx


    class ListedContext(ParserRuleContext):
        __slots__ = 'parser'

        def __init__(self, parser, parent:ParserRuleContext=None, invokingState:int=-1):
            super().__init__(parent, invokingState)
            self.parser = parser

        def STRING(self):
            return self.getToken(ESLParser.STRING, 0)

        def LOG(self):
            return self.getToken(ESLParser.LOG, 0)

        def MATCH(self):
            return self.getToken(ESLParser.MATCH, 0)

        def getRuleIndex(self):
            return ESLParser.RULE_listed

        def accept(self, visitor:ParseTreeVisitor):
            if hasattr( visitor, "visitListed" ):
                return visitor.visitListed(self)
            else:
                return visitor.visitChildren(self)




    def listed(self):

        localctx = ESLParser.ListedContext(self, self._ctx, self.state)
        self.enterRule(localctx, 34, self.RULE_listed)
        self._la = 0 # Token type
        try:
            self.enterOuterAlt(localctx, 1)
            self.state = 429
            self._errHandler.sync(self)
            _la = self._input.LA(1)
            if _la==14 or _la==15:
                self.state = 428
                _la = self._input.LA(1)
                if not(_la==14 or _la==15):
                    self._errHandler.recoverInline(self)
                else:
                    self._errHandler.reportMatch(self)
                    self.consume()


            self.state = 431
            self.match(ESLParser.STRING)
        except RecognitionException as re:
            localctx.exception = re
            self._errHandler.reportError(self, re)
            self._errHandler.recover(self, re)
        finally:
            self.exitRule()
        return localctx


    class SourceContext(ParserRuleContext):
        __slots__ = 'parser'

        def __init__(self, parser, parent:ParserRuleContext=None, invokingState:int=-1):
            super().__init__(parent, invokingState)
            self.parser = parser

        def STDOUT(self):
            return self.getToken(ESLParser.STDOUT, 0)

        def STDERR(self):
            return self.getToken(ESLParser.STDERR, 0)

        def OUTPUT(self):
            return self.getToken(ESLParser.OUTPUT, 0)

        def FILE(self):
            return self.getToken(ESLParser.FILE, 0)

        def STRING(self):
            return self.getToken(ESLParser.STRING, 0)

        def getRuleIndex(self):
            return ESLParser.RULE_source

        def accept(self, visitor:ParseTreeVisitor):
            if hasattr( visitor, "visitSource" ):
                return visitor.visitSource(self)
            else:
                return visitor.visitChildren(self)




    def source(self):

        localctx = ESLParser.SourceContext(self, self._ctx, self.state)
        self.enterRule(localctx, 36, self.RULE_source)
        try:
            self.state = 438
            self._errHandler.sync(self)
            token = self._input.LA(1)
            if token in [49]:
                self.enterOuterAlt(localctx, 1)
                self.state = 433
                self.match(ESLParser.STDOUT)
                pass
            elif token in [50]:
                self.enterOuterAlt(localctx, 2)
                self.state = 434
                self.match(ESLParser.STDERR)
                pass
            elif token in [51]:
                self.enterOuterAlt(localctx, 3)
                self.state = 435
                self.match(ESLParser.OUTPUT)
                pass
            elif token in [52]:
                self.enterOuterAlt(localctx, 4)
                self.state = 436
                self.match(ESLParser.FILE)
                self.state = 437
                self.match(ESLParser.STRING)
                pass
            else:
                raise NoViableAltException(self)

        except RecognitionException as re:
            localctx.exception = re
            self._errHandler.reportError(self, re)
            self._errHandler.recover(self, re)
        finally:
            self.exitRule()
        return localctx


    class RecurringContext(ParserRuleContext):
        __slots__ = 'parser'

        def __init__(self, parser, parent:ParserRuleContext=None, invokingState:int=-1):
            super().__init__(parent, invokingState)
            self.parser = parser

        def RECURRING(self):
            return self.getToken(ESLParser.RECURRING, 0)

        def count(self):
            return self.getTypedRuleContext(ESLParser.CountContext,0)


        def within(self):
            return self.getTypedRuleContext(ESLParser.WithinContext,0)


        def getRuleIndex(self):
            return ESLParser.RULE_recurring

        def accept(self, visitor:ParseTreeVisitor):
            if hasattr( visitor, "visitRecurring" ):
                return visitor.visitRecurring(self)
            else:
                return visitor.visitChildren(self)




    def recurring(self):

        localctx = ESLParser.RecurringContext(self, self._ctx, self.state)
        self.enterRule(localctx, 38, self.RULE_recurring)
        self._la = 0 # Token type
        try:
            self.enterOuterAlt(localctx, 1)
            self.state = 440
            self.match(ESLParser.RECURRING)
            self.state = 441
            self.count()
            self.state = 443
            self._errHandler.sync(self)
            _la = self._input.LA(1)
            if _la==33:
                self.state = 442
                self.within()


        except RecognitionException as re:
            localctx.exception = re
            self._errHandler.reportError(self, re)
            self._errHandler.recover(self, re)
        finally:
            self.exitRule()
        return localctx


    class WithinContext(ParserRuleContext):
        __slots__ = 'parser'

        def __init__(self, parser, parent:ParserRuleContext=None, invokingState:int=-1):
            super().__init__(parent, invokingState)
            self.parser = parser

        def WITHIN(self):
            return self.getToken(ESLParser.WITHIN, 0)

        def seconds(self):
            return self.getTypedRuleContext(ESLParser.SecondsContext,0)


        def getRuleIndex(self):
            return ESLParser.RULE_within

        def accept(self, visitor:ParseTreeVisitor):
            if hasattr( visitor, "visitWithin" ):
                return visitor.visitWithin(self)
            else:
                return visitor.visitChildren(self)




    def within(self):

        localctx = ESLParser.WithinContext(self, self._ctx, self.state)
        self.enterRule(localctx, 40, self.RULE_within)
        try:
            self.enterOuterAlt(localctx, 1)
            self.state = 445
            self.match(ESLParser.WITHIN)
            self.state = 446
            self.seconds()
        except RecognitionException as re:
            localctx.exception = re
            self._errHandler.reportError(self, re)
            self._errHandler.recover(self, re)
        finally:
            self.exitRule()
        return localctx


    class TimerContext(ParserRuleContext):
        __slots__ = 'parser'

        def __init__(self, parser, parent:ParserRuleContext=None, invokingState:int=-1):
            super().__init__(parent, invokingState)
            self.parser = parser

        def TIMEOUT(self):
            return self.getToken(ESLParser.TIMEOUT, 0)

        def seconds(self, i:int=None):
            if i is None:
                return self.getTypedRuleContexts(ESLParser.SecondsContext)
            else:
                return self.getTypedRuleContext(ESLParser.SecondsContext,i)


        def WARMUP(self):
            return self.getToken(ESLParser.WARMUP, 0)

        def getRuleIndex(self):
            return ESLParser.RULE_timer

        def accept(self, visitor:ParseTreeVisitor):
            if hasattr( visitor, "visitTimer" ):
                return visitor.visitTimer(self)
            else:
                return visitor.visitChildren(self)




    def timer(self):

        localctx = ESLParser.TimerContext(self, self._ctx, self.state)
        self.enterRule(localctx, 42, self.RULE_timer)
        self._la = 0 # Token type
        try:
            self.enterOuterAlt(localctx, 1)
            self.state = 448
            self.match(ESLParser.TIMEOUT)
            self.state = 449
            self.seconds()
            self.state = 452
            self._errHandler.sync(self)
            _la = self._input.LA(1)
            if _la==35:
                self.state = 450
                self.match(ESLParser.WARMUP)
                self.state = 451
                self.seconds()


        except RecognitionException as re:
            localctx.exception = re
            self._errHandler.reportError(self, re)
            self._errHandler.recover(self, re)
        finally:
            self.exitRule()
        return localctx


    class CodesContext(ParserRuleContext):
        __slots__ = 'parser'

        def __init__(self, parser, parent:ParserRuleContext=None, invokingState:int=-1):
            super().__init__(parent, invokingState)
            self.parser = parser

        def CODE(self):
            return self.getToken(ESLParser.CODE, 0)

        def code(self, i:int=None):
            if i is None:
                return self.getTypedRuleContexts(ESLParser.CodeContext)
            else:
                return self.getTypedRuleContext(ESLParser.CodeContext,i)


        def COMMA(self, i:int=None):
            if i is None:
                return self.getTokens(ESLParser.COMMA)
            else:
                return self.getToken(ESLParser.COMMA, i)

        def getRuleIndex(self):
            return ESLParser.RULE_codes

        def accept(self, visitor:ParseTreeVisitor):
            if hasattr( visitor, "visitCodes" ):
                return visitor.visitCodes(self)
            else:
                return visitor.visitChildren(self)




    def codes(self):

        localctx = ESLParser.CodesContext(self, self._ctx, self.state)
        self.enterRule(localctx, 44, self.RULE_codes)
        self._la = 0 # Token type
        try:
            self.enterOuterAlt(localctx, 1)
            self.state = 454
            self.match(ESLParser.CODE)
            self.state = 455
            self.code()
            self.state = 460
            self._errHandler.sync(self)
            _la = self._input.LA(1)
            while _la==57:
                self.state = 456
                self.match(ESLParser.COMMA)
                self.state = 457
                self.code()
                self.state = 462
                self._errHandler.sync(self)
                _la = self._input.LA(1)

        except RecognitionException as re:
            localctx.exception = re
            self._errHandler.reportError(self, re)
            self._errHandler.recover(self, re)
        finally:
            self.exitRule()
        return localctx


    class CodeContext(ParserRuleContext):
        __slots__ = 'parser'

        def __init__(self, parser, parent:ParserRuleContext=None, invokingState:int=-1):
            super().__init__(parent, invokingState)
            self.parser = parser

        def NUMBER(self, i:int=None):
            if i is None:
                return self.getTokens(ESLParser.NUMBER)
            else:
                return self.getToken(ESLParser.NUMBER, i)

        def DASH(self):
            return self.getToken(ESLParser.DASH, 0)

        def getRuleIndex(self):
            return ESLParser.RULE_code

        def accept(self, visitor:ParseTreeVisitor):
            if hasattr( visitor, "visitCode" ):
                return visitor.visitCode(self)
            else:
                return visitor.visitChildren(self)




    def code(self):

        localctx = ESLParser.CodeContext(self, self._ctx, self.state)
        self.enterRule(localctx, 46, self.RULE_code)
        self._la = 0 # Token type
        try:
            self.enterOuterAlt(localctx, 1)
            self.state = 463
            self.match(ESLParser.NUMBER)
            self.state = 466
            self._errHandler.sync(self)
            _la = self._input.LA(1)
            if _la==61:
                self.state = 464
                self.match(ESLParser.DASH)
                self.state = 465
                self.match(ESLParser.NUMBER)


        except RecognitionException as re:
            localctx.exception = re
            self._errHandler.reportError(self, re)
            self._errHandler.recover(self, re)
        finally:
            self.exitRule()
        return localctx


    class SeverityContext(ParserRuleContext):
        __slots__ = 'parser'

        def __init__(self, parser, parent:ParserRuleContext=None, invokingState:int=-1):
            super().__init__(parent, invokingState)
            self.parser = parser

        def SEVERITY(self):
            return self.getToken(ESLParser.SEVERITY, 0)

        def count(self):
            return self.getTypedRuleContext(ESLParser.CountContext,0)


        def getRuleIndex(self):
            return ESLParser.RULE_severity

        def accept(self, visitor:ParseTreeVisitor):
            if hasattr( visitor, "visitSeverity" ):
                return visitor.visitSeverity(self)
            else:
                return visitor.visitChildren(self)




    def severity(self):

        localctx = ESLParser.SeverityContext(self, self._ctx, self.state)
        self.enterRule(localctx, 48, self.RULE_severity)
        try:
            self.enterOuterAlt(localctx, 1)
            self.state = 468
            self.match(ESLParser.SEVERITY)
            self.state = 469
            self.count()
        except RecognitionException as re:
            localctx.exception = re
            self._errHandler.reportError(self, re)
            self._errHandler.recover(self, re)
        finally:
            self.exitRule()
        return localctx


    class SignalContext(ParserRuleContext):
        __slots__ = 'parser'

        def __init__(self, parser, parent:ParserRuleContext=None, invokingState:int=-1):
            super().__init__(parent, invokingState)
            self.parser = parser

        def IDENTIFIER(self):
            return self.getToken(ESLParser.IDENTIFIER, 0)

        def NUMBER(self):
            return self.getToken(ESLParser.NUMBER, 0)

        def getRuleIndex(self):
            return ESLParser.RULE_signal

        def accept(self, visitor:ParseTreeVisitor):
            if hasattr( visitor, "visitSignal" ):
                return visitor.visitSignal(self)
            else:
                return visitor.visitChildren(self)




    def signal(self):

        localctx = ESLParser.SignalContext(self, self._ctx, self.state)
        self.enterRule(localctx, 50, self.RULE_signal)
        self._la = 0 # Token type
        try:
            self.enterOuterAlt(localctx, 1)
            self.state = 471
            _la = self._input.LA(1)
            if not(_la==53 or _la==54):
                self._errHandler.recoverInline(self)
            else:
                self._errHandler.reportMatch(self)
                self.consume()
        except RecognitionException as re:
            localctx.exception = re
            self._errHandler.reportError(self, re)
            self._errHandler.recover(self, re)
        finally:
            self.exitRule()
        return localctx


    class CountContext(ParserRuleContext):
        __slots__ = 'parser'

        def __init__(self, parser, parent:ParserRuleContext=None, invokingState:int=-1):
            super().__init__(parent, invokingState)
            self.parser = parser

        def NUMBER(self):
            return self.getToken(ESLParser.NUMBER, 0)

        def DASH(self):
            return self.getToken(ESLParser.DASH, 0)

        def getRuleIndex(self):
            return ESLParser.RULE_count

        def accept(self, visitor:ParseTreeVisitor):
            if hasattr( visitor, "visitCount" ):
                return visitor.visitCount(self)
            else:
                return visitor.visitChildren(self)




    def count(self):

        localctx = ESLParser.CountContext(self, self._ctx, self.state)
        self.enterRule(localctx, 52, self.RULE_count)
        self._la = 0 # Token type
        try:
            self.enterOuterAlt(localctx, 1)
            self.state = 474
            self._errHandler.sync(self)
            _la = self._input.LA(1)
            if _la==61:
                self.state = 473
                self.match(ESLParser.DASH)


            self.state = 476
            self.match(ESLParser.NUMBER)
        except RecognitionException as re:
            localctx.exception = re
            self._errHandler.reportError(self, re)
            self._errHandler.recover(self, re)
        finally:
            self.exitRule()
        return localctx


    class SecondsContext(ParserRuleContext):
        __slots__ = 'parser'

        def __init__(self, parser, parent:ParserRuleContext=None, invokingState:int=-1):
            super().__init__(parent, invokingState)
            self.parser = parser

        def NUMBER(self):
            return self.getToken(ESLParser.NUMBER, 0)

        def DASH(self):
            return self.getToken(ESLParser.DASH, 0)

        def getRuleIndex(self):
            return ESLParser.RULE_seconds

        def accept(self, visitor:ParseTreeVisitor):
            if hasattr( visitor, "visitSeconds" ):
                return visitor.visitSeconds(self)
            else:
                return visitor.visitChildren(self)




    def seconds(self):

        localctx = ESLParser.SecondsContext(self, self._ctx, self.state)
        self.enterRule(localctx, 54, self.RULE_seconds)
        self._la = 0 # Token type
        try:
            self.enterOuterAlt(localctx, 1)
            self.state = 479
            self._errHandler.sync(self)
            _la = self._input.LA(1)
            if _la==61:
                self.state = 478
                self.match(ESLParser.DASH)


            self.state = 481
            self.match(ESLParser.NUMBER)
        except RecognitionException as re:
            localctx.exception = re
            self._errHandler.reportError(self, re)
            self._errHandler.recover(self, re)
        finally:
            self.exitRule()
        return localctx


    class PercentContext(ParserRuleContext):
        __slots__ = 'parser'

        def __init__(self, parser, parent:ParserRuleContext=None, invokingState:int=-1):
            super().__init__(parent, invokingState)
            self.parser = parser

        def NUMBER(self):
            return self.getToken(ESLParser.NUMBER, 0)

        def DASH(self):
            return self.getToken(ESLParser.DASH, 0)

        def getRuleIndex(self):
            return ESLParser.RULE_percent

        def accept(self, visitor:ParseTreeVisitor):
            if hasattr( visitor, "visitPercent" ):
                return visitor.visitPercent(self)
            else:
                return visitor.visitChildren(self)




    def percent(self):

        localctx = ESLParser.PercentContext(self, self._ctx, self.state)
        self.enterRule(localctx, 56, self.RULE_percent)
        self._la = 0 # Token type
        try:
            self.enterOuterAlt(localctx, 1)
            self.state = 484
            self._errHandler.sync(self)
            _la = self._input.LA(1)
            if _la==61:
                self.state = 483
                self.match(ESLParser.DASH)


            self.state = 486
            self.match(ESLParser.NUMBER)
        except RecognitionException as re:
            localctx.exception = re
            self._errHandler.reportError(self, re)
            self._errHandler.recover(self, re)
        finally:
            self.exitRule()
        return localctx


    class ConfidenceContext(ParserRuleContext):
        __slots__ = 'parser'

        def __init__(self, parser, parent:ParserRuleContext=None, invokingState:int=-1):
            super().__init__(parent, invokingState)
            self.parser = parser

        def NUMBER(self):
            return self.getToken(ESLParser.NUMBER, 0)

        def DASH(self):
            return self.getToken(ESLParser.DASH, 0)

        def getRuleIndex(self):
            return ESLParser.RULE_confidence

        def accept(self, visitor:ParseTreeVisitor):
            if hasattr( visitor, "visitConfidence" ):
                return visitor.visitConfidence(self)
            else:
                return visitor.visitChildren(self)




    def confidence(self):

        localctx = ESLParser.ConfidenceContext(self, self._ctx, self.state)
        self.enterRule(localctx, 58, self.RULE_confidence)
        self._la = 0 # Token type
        try:
            self.enterOuterAlt(localctx, 1)
            self.state = 489
            self._errHandler.sync(self)
            _la = self._input.LA(1)
            if _la==61:
                self.state = 488
                self.match(ESLParser.DASH)


            self.state = 491
            self.match(ESLParser.NUMBER)
        except RecognitionException as re:
            localctx.exception = re
            self._errHandler.reportError(self, re)
            self._errHandler.recover(self, re)
        finally:
            self.exitRule()
        return localctx





