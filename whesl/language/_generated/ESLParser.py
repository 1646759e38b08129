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
        4,1,81,541,2,0,7,0,2,1,7,1,2,2,7,2,2,3,7,3,2,4,7,4,2,5,7,5,2,6,7,
        6,2,7,7,7,2,8,7,8,2,9,7,9,2,10,7,10,2,11,7,11,2,12,7,12,2,13,7,13,
        2,14,7,14,2,15,7,15,2,16,7,16,2,17,7,17,2,18,7,18,2,19,7,19,2,20,
        7,20,2,21,7,21,2,22,7,22,2,23,7,23,2,24,7,24,2,25,7,25,2,26,7,26,
        2,27,7,27,2,28,7,28,2,29,7,29,2,30,7,30,1,0,5,0,64,8,0,10,0,12,0,
        67,9,0,1,0,5,0,70,8,0,10,0,12,0,73,9,0,1,0,1,0,1,1,1,1,4,1,79,8,
        1,11,1,12,1,80,1,1,3,1,84,8,1,1,2,1,2,1,2,1,2,1,2,1,2,1,2,3,2,93,
        8,2,3,2,95,8,2,1,3,1,3,1,3,1,3,5,3,101,8,3,10,3,12,3,104,9,3,1,3,
        1,3,1,3,1,3,5,3,110,8,3,10,3,12,3,113,9,3,1,3,1,3,1,3,1,3,5,3,119,
        8,3,10,3,12,3,122,9,3,1,3,1,3,5,3,126,8,3,10,3,12,3,129,9,3,1,3,
        1,3,5,3,133,8,3,10,3,12,3,136,9,3,1,3,1,3,5,3,140,8,3,10,3,12,3,
        143,9,3,5,3,145,8,3,10,3,12,3,148,9,3,1,3,1,3,1,3,3,3,153,8,3,1,
        3,1,3,1,3,1,3,1,3,1,3,5,3,161,8,3,10,3,12,3,164,9,3,1,3,1,3,5,3,
        168,8,3,10,3,12,3,171,9,3,1,3,1,3,5,3,175,8,3,10,3,12,3,178,9,3,
        1,3,1,3,5,3,182,8,3,10,3,12,3,185,9,3,5,3,187,8,3,10,3,12,3,190,
        9,3,1,3,1,3,5,3,194,8,3,10,3,12,3,197,9,3,1,3,1,3,1,3,1,3,5,3,203,
        8,3,10,3,12,3,206,9,3,1,3,1,3,5,3,210,8,3,10,3,12,3,213,9,3,1,3,
        1,3,5,3,217,8,3,10,3,12,3,220,9,3,1,3,1,3,5,3,224,8,3,10,3,12,3,
        227,9,3,5,3,229,8,3,10,3,12,3,232,9,3,1,3,1,3,3,3,236,8,3,1,4,1,
        4,1,4,1,4,1,4,1,4,1,4,1,4,1,4,1,4,1,4,1,4,1,4,3,4,251,8,4,1,4,3,
        4,254,8,4,3,4,256,8,4,1,5,1,5,1,6,1,6,1,7,1,7,1,8,1,8,1,9,1,9,1,
        10,1,10,1,10,3,10,271,8,10,1,11,1,11,4,11,275,8,11,11,11,12,11,276,
        3,11,279,8,11,1,12,1,12,1,13,1,13,1,13,1,13,3,13,287,8,13,1,13,3,
        13,290,8,13,1,13,1,13,1,13,1,13,1,13,1,13,1,13,3,13,299,8,13,3,13,
        301,8,13,1,13,1,13,1,13,3,13,306,8,13,3,13,308,8,13,1,14,1,14,1,
        14,1,14,1,14,1,14,1,14,1,14,1,14,3,14,319,8,14,1,14,1,14,1,14,1,
        14,3,14,325,8,14,1,14,1,14,1,14,1,14,3,14,331,8,14,1,14,1,14,1,14,
        1,14,3,14,337,8,14,1,14,1,14,1,14,1,14,1,14,1,14,1,14,1,14,3,14,
        347,8,14,1,14,1,14,1,14,1,14,1,14,5,14,354,8,14,10,14,12,14,357,
        9,14,3,14,359,8,14,1,14,1,14,1,14,1,14,5,14,365,8,14,10,14,12,14,
        368,9,14,1,14,1,14,3,14,372,8,14,1,14,1,14,1,14,1,14,1,14,1,14,1,
        14,1,14,1,14,3,14,383,8,14,1,14,1,14,1,14,1,14,1,14,1,14,1,14,1,
        14,1,14,1,14,3,14,395,8,14,1,14,1,14,1,14,1,14,1,14,1,14,1,14,1,
        14,1,14,1,14,1,14,1,14,1,14,3,14,410,8,14,1,14,1,14,1,14,1,14,3,
        14,416,8,14,1,14,1,14,1,14,1,14,3,14,422,8,14,1,14,3,14,425,8,14,
        1,14,1,14,3,14,429,8,14,3,14,431,8,14,1,15,1,15,1,15,1,16,1,16,5,
        16,438,8,16,10,16,12,16,441,9,16,1,16,1,16,5,16,445,8,16,10,16,12,
        16,448,9,16,1,16,1,16,5,16,452,8,16,10,16,12,16,455,9,16,1,16,1,
        16,5,16,459,8,16,10,16,12,16,462,9,16,5,16,464,8,16,10,16,12,16,
        467,9,16,1,16,1,16,1,17,3,17,472,8,17,1,17,1,17,1,18,1,18,1,18,1,
        18,1,18,3,18,481,8,18,1,19,1,19,1,19,3,19,486,8,19,1,20,1,20,1,20,
        1,21,1,21,1,21,1,21,3,21,495,8,21,1,22,1,22,1,22,1,22,5,22,501,8,
        22,10,22,12,22,504,9,22,1,23,1,23,1,23,3,23,509,8,23,1,24,1,24,1,
        24,3,24,514,8,24,1,25,1,25,1,25,1,26,1,26,1,27,3,27,522,8,27,1,27,
        1,27,1,28,3,28,527,8,28,1,28,1,28,1,29,3,29,532,8,29,1,29,1,29,1,
        30,3,30,537,8,30,1,30,1,30,1,30,0,0,31,0,2,4,6,8,10,12,14,16,18,
        20,22,24,26,28,30,32,34,36,38,40,42,44,46,48,50,52,54,56,58,60,0,
        6,4,0,65,65,67,71,76,77,81,81,1,0,1,64,1,0,34,35,1,0,36,38,1,0,14,
        15,2,0,64,64,66,66,610,0,65,1,0,0,0,2,76,1,0,0,0,4,94,1,0,0,0,6,
        235,1,0,0,0,8,255,1,0,0,0,10,257,1,0,0,0,12,259,1,0,0,0,14,261,1,
        0,0,0,16,263,1,0,0,0,18,265,1,0,0,0,20,267,1,0,0,0,22,278,1,0,0,
        0,24,280,1,0,0,0,26,307,1,0,0,0,28,430,1,0,0,0,30,432,1,0,0,0,32,
        435,1,0,0,0,34,471,1,0,0,0,36,480,1,0,0,0,38,482,1,0,0,0,40,487,
        1,0,0,0,42,490,1,0,0,0,44,496,1,0,0,0,46,505,1,0,0,0,48,513,1,0,
        0,0,50,515,1,0,0,0,52,518,1,0,0,0,54,521,1,0,0,0,56,526,1,0,0,0,
        58,531,1,0,0,0,60,536,1,0,0,0,62,64,5,77,0,0,63,62,1,0,0,0,64,67,
        1,0,0,0,65,63,1,0,0,0,65,66,1,0,0,0,66,71,1,0,0,0,67,65,1,0,0,0,
        68,70,3,2,1,0,69,68,1,0,0,0,70,73,1,0,0,0,71,69,1,0,0,0,71,72,1,
        0,0,0,72,74,1,0,0,0,73,71,1,0,0,0,74,75,5,0,0,1,75,1,1,0,0,0,76,
        83,3,4,2,0,77,79,5,77,0,0,78,77,1,0,0,0,79,80,1,0,0,0,80,78,1,0,
        0,0,80,81,1,0,0,0,81,84,1,0,0,0,82,84,5,0,0,1,83,78,1,0,0,0,83,82,
        1,0,0,0,84,3,1,0,0,0,85,86,5,2,0,0,86,95,3,6,3,0,87,88,5,6,0,0,88,
        95,3,8,4,0,89,90,5,1,0,0,90,92,5,67,0,0,91,93,3,36,18,0,92,91,1,
        0,0,0,92,93,1,0,0,0,93,95,1,0,0,0,94,85,1,0,0,0,94,87,1,0,0,0,94,
        89,1,0,0,0,95,5,1,0,0,0,96,97,5,3,0,0,97,102,3,10,5,0,98,99,5,69,
        0,0,99,101,3,10,5,0,100,98,1,0,0,0,101,104,1,0,0,0,102,100,1,0,0,
        0,102,103,1,0,0,0,103,236,1,0,0,0,104,102,1,0,0,0,105,106,5,4,0,
        0,106,111,3,12,6,0,107,108,5,69,0,0,108,110,3,12,6,0,109,107,1,0,
        0,0,110,113,1,0,0,0,111,109,1,0,0,0,111,112,1,0,0,0,112,236,1,0,
        0,0,113,111,1,0,0,0,114,115,5,5,0,0,115,116,3,14,7,0,116,120,5,70,
        0,0,117,119,5,77,0,0,118,117,1,0,0,0,119,122,1,0,0,0,120,118,1,0,
        0,0,120,121,1,0,0,0,121,123,1,0,0,0,122,120,1,0,0,0,123,127,3,20,
        10,0,124,126,5,77,0,0,125,124,1,0,0,0,126,129,1,0,0,0,127,125,1,
        0,0,0,127,128,1,0,0,0,128,146,1,0,0,0,129,127,1,0,0,0,130,134,5,
        69,0,0,131,133,5,77,0,0,132,131,1,0,0,0,133,136,1,0,0,0,134,132,
        1,0,0,0,134,135,1,0,0,0,135,137,1,0,0,0,136,134,1,0,0,0,137,141,
        3,20,10,0,138,140,5,77,0,0,139,138,1,0,0,0,140,143,1,0,0,0,141,139,
        1,0,0,0,141,142,1,0,0,0,142,145,1,0,0,0,143,141,1,0,0,0,144,130,
        1,0,0,0,145,148,1,0,0,0,146,144,1,0,0,0,146,147,1,0,0,0,147,149,
        1,0,0,0,148,146,1,0,0,0,149,152,5,71,0,0,150,151,5,12,0,0,151,153,
        5,67,0,0,152,150,1,0,0,0,152,153,1,0,0,0,153,236,1,0,0,0,154,155,
        5,6,0,0,155,156,3,18,9,0,156,157,3,12,6,0,157,158,5,10,0,0,158,162,
        5,70,0,0,159,161,5,77,0,0,160,159,1,0,0,0,161,164,1,0,0,0,162,160,
        1,0,0,0,162,163,1,0,0,0,163,165,1,0,0,0,164,162,1,0,0,0,165,169,
        3,22,11,0,166,168,5,77,0,0,167,166,1,0,0,0,168,171,1,0,0,0,169,167,
        1,0,0,0,169,170,1,0,0,0,170,188,1,0,0,0,171,169,1,0,0,0,172,176,
        5,69,0,0,173,175,5,77,0,0,174,173,1,0,0,0,175,178,1,0,0,0,176,174,
        1,0,0,0,176,177,1,0,0,0,177,179,1,0,0,0,178,176,1,0,0,0,179,183,
        3,22,11,0,180,182,5,77,0,0,181,180,1,0,0,0,182,185,1,0,0,0,183,181,
        1,0,0,0,183,184,1,0,0,0,184,187,1,0,0,0,185,183,1,0,0,0,186,172,
        1,0,0,0,187,190,1,0,0,0,188,186,1,0,0,0,188,189,1,0,0,0,189,191,
        1,0,0,0,190,188,1,0,0,0,191,195,5,71,0,0,192,194,3,26,13,0,193,192,
        1,0,0,0,194,197,1,0,0,0,195,193,1,0,0,0,195,196,1,0,0,0,196,236,
        1,0,0,0,197,195,1,0,0,0,198,199,5,13,0,0,199,200,5,10,0,0,200,204,
        5,70,0,0,201,203,5,77,0,0,202,201,1,0,0,0,203,206,1,0,0,0,204,202,
        1,0,0,0,204,205,1,0,0,0,205,207,1,0,0,0,206,204,1,0,0,0,207,211,
        3,22,11,0,208,210,5,77,0,0,209,208,1,0,0,0,210,213,1,0,0,0,211,209,
        1,0,0,0,211,212,1,0,0,0,212,230,1,0,0,0,213,211,1,0,0,0,214,218,
        5,69,0,0,215,217,5,77,0,0,216,215,1,0,0,0,217,220,1,0,0,0,218,216,
        1,0,0,0,218,219,1,0,0,0,219,221,1,0,0,0,220,218,1,0,0,0,221,225,
        3,22,11,0,222,224,5,77,0,0,223,222,1,0,0,0,224,227,1,0,0,0,225,223,
        1,0,0,0,225,226,1,0,0,0,226,229,1,0,0,0,227,225,1,0,0,0,228,214,
        1,0,0,0,229,232,1,0,0,0,230,228,1,0,0,0,230,231,1,0,0,0,231,233,
        1,0,0,0,232,230,1,0,0,0,233,234,5,71,0,0,234,236,1,0,0,0,235,96,
        1,0,0,0,235,105,1,0,0,0,235,114,1,0,0,0,235,154,1,0,0,0,235,198,
        1,0,0,0,236,7,1,0,0,0,237,238,5,7,0,0,238,239,3,18,9,0,239,240,3,
        28,14,0,240,256,1,0,0,0,241,242,5,8,0,0,242,243,5,9,0,0,243,244,
        3,18,9,0,244,245,3,10,5,0,245,246,3,14,7,0,246,247,5,72,0,0,247,
        250,3,16,8,0,248,249,5,58,0,0,249,251,5,59,0,0,250,248,1,0,0,0,250,
        251,1,0,0,0,251,253,1,0,0,0,252,254,5,68,0,0,253,252,1,0,0,0,253,
        254,1,0,0,0,254,256,1,0,0,0,255,237,1,0,0,0,255,241,1,0,0,0,256,
        9,1,0,0,0,257,258,3,24,12,0,258,11,1,0,0,0,259,260,3,24,12,0,260,
        13,1,0,0,0,261,262,3,24,12,0,262,15,1,0,0,0,263,264,3,24,12,0,264,
        17,1,0,0,0,265,266,3,24,12,0,266,19,1,0,0,0,267,270,3,16,8,0,268,
        269,5,12,0,0,269,271,5,67,0,0,270,268,1,0,0,0,270,271,1,0,0,0,271,
        21,1,0,0,0,272,279,5,67,0,0,273,275,8,0,0,0,274,273,1,0,0,0,275,
        276,1,0,0,0,276,274,1,0,0,0,276,277,1,0,0,0,277,279,1,0,0,0,278,
        272,1,0,0,0,278,274,1,0,0,0,279,23,1,0,0,0,280,281,7,1,0,0,281,25,
        1,0,0,0,282,283,5,45,0,0,283,286,3,54,27,0,284,285,5,46,0,0,285,
        287,5,20,0,0,286,284,1,0,0,0,286,287,1,0,0,0,287,289,1,0,0,0,288,
        290,3,40,20,0,289,288,1,0,0,0,289,290,1,0,0,0,290,308,1,0,0,0,291,
        292,5,47,0,0,292,308,3,56,28,0,293,300,5,48,0,0,294,301,5,49,0,0,
        295,301,5,50,0,0,296,298,5,51,0,0,297,299,3,18,9,0,298,297,1,0,0,
        0,298,299,1,0,0,0,299,301,1,0,0,0,300,294,1,0,0,0,300,295,1,0,0,
        0,300,296,1,0,0,0,301,308,1,0,0,0,302,303,5,52,0,0,303,305,5,67,
        0,0,304,306,3,50,25,0,305,304,1,0,0,0,305,306,1,0,0,0,306,308,1,
        0,0,0,307,282,1,0,0,0,307,291,1,0,0,0,307,293,1,0,0,0,307,302,1,
        0,0,0,308,27,1,0,0,0,309,310,5,18,0,0,310,311,3,30,15,0,311,312,
        3,36,18,0,312,313,3,42,21,0,313,431,1,0,0,0,314,315,3,30,15,0,315,
        318,3,36,18,0,316,319,3,38,19,0,317,319,3,42,21,0,318,316,1,0,0,
        0,318,317,1,0,0,0,318,319,1,0,0,0,319,431,1,0,0,0,320,321,5,16,0,
        0,321,322,3,32,16,0,322,324,3,36,18,0,323,325,3,40,20,0,324,323,
        1,0,0,0,324,325,1,0,0,0,325,431,1,0,0,0,326,327,5,17,0,0,327,328,
        3,32,16,0,328,330,3,36,18,0,329,331,3,38,19,0,330,329,1,0,0,0,330,
        331,1,0,0,0,331,431,1,0,0,0,332,333,5,19,0,0,333,431,3,42,21,0,334,
        336,5,20,0,0,335,337,5,15,0,0,336,335,1,0,0,0,336,337,1,0,0,0,337,
        338,1,0,0,0,338,339,5,67,0,0,339,340,3,36,18,0,340,341,3,42,21,0,
        341,431,1,0,0,0,342,358,5,21,0,0,343,346,5,17,0,0,344,345,5,22,0,
        0,345,347,3,44,22,0,346,344,1,0,0,0,346,347,1,0,0,0,347,359,1,0,
        0,0,348,359,3,44,22,0,349,350,5,24,0,0,350,355,3,52,26,0,351,352,
        5,69,0,0,352,354,3,52,26,0,353,351,1,0,0,0,354,357,1,0,0,0,355,353,
        1,0,0,0,355,356,1,0,0,0,356,359,1,0,0,0,357,355,1,0,0,0,358,343,
        1,0,0,0,358,348,1,0,0,0,358,349,1,0,0,0,359,431,1,0,0,0,360,361,
        5,54,0,0,361,366,3,48,24,0,362,363,5,69,0,0,363,365,3,48,24,0,364,
        362,1,0,0,0,365,368,1,0,0,0,366,364,1,0,0,0,366,367,1,0,0,0,367,
        371,1,0,0,0,368,366,1,0,0,0,369,370,5,57,0,0,370,372,3,60,30,0,371,
        369,1,0,0,0,371,372,1,0,0,0,372,431,1,0,0,0,373,374,5,25,0,0,374,
        382,5,67,0,0,375,383,5,26,0,0,376,383,5,27,0,0,377,378,5,28,0,0,
        378,379,5,30,0,0,379,383,5,67,0,0,380,381,5,31,0,0,381,383,3,30,
        15,0,382,375,1,0,0,0,382,376,1,0,0,0,382,377,1,0,0,0,382,380,1,0,
        0,0,383,431,1,0,0,0,384,385,5,32,0,0,385,386,5,33,0,0,386,387,5,
        25,0,0,387,394,5,67,0,0,388,389,5,31,0,0,389,395,5,27,0,0,390,391,
        5,29,0,0,391,392,5,30,0,0,392,395,5,67,0,0,393,395,3,30,15,0,394,
        388,1,0,0,0,394,390,1,0,0,0,394,393,1,0,0,0,394,395,1,0,0,0,395,
        431,1,0,0,0,396,397,5,11,0,0,397,431,7,2,0,0,398,399,7,3,0,0,399,
        400,5,67,0,0,400,401,5,39,0,0,401,402,3,58,29,0,402,403,5,76,0,0,
        403,431,1,0,0,0,404,405,5,6,0,0,405,406,3,18,9,0,406,407,3,54,27,
        0,407,409,5,41,0,0,408,410,3,40,20,0,409,408,1,0,0,0,409,410,1,0,
        0,0,410,431,1,0,0,0,411,412,5,10,0,0,412,413,5,6,0,0,413,415,5,67,
        0,0,414,416,3,50,25,0,415,414,1,0,0,0,415,416,1,0,0,0,416,431,1,
        0,0,0,417,431,5,55,0,0,418,421,5,56,0,0,419,420,5,11,0,0,420,422,
        5,67,0,0,421,419,1,0,0,0,421,422,1,0,0,0,422,424,1,0,0,0,423,425,
        3,40,20,0,424,423,1,0,0,0,424,425,1,0,0,0,425,428,1,0,0,0,426,427,
        5,57,0,0,427,429,3,60,30,0,428,426,1,0,0,0,428,429,1,0,0,0,429,431,
        1,0,0,0,430,309,1,0,0,0,430,314,1,0,0,0,430,320,1,0,0,0,430,326,
        1,0,0,0,430,332,1,0,0,0,430,334,1,0,0,0,430,342,1,0,0,0,430,360,
        1,0,0,0,430,373,1,0,0,0,430,384,1,0,0,0,430,396,1,0,0,0,430,398,
        1,0,0,0,430,404,1,0,0,0,430,411,1,0,0,0,430,417,1,0,0,0,430,418,
        1,0,0,0,431,29,1,0,0,0,432,433,7,4,0,0,433,434,5,67,0,0,434,31,1,
        0,0,0,435,439,5,70,0,0,436,438,5,77,0,0,437,436,1,0,0,0,438,441,
        1,0,0,0,439,437,1,0,0,0,439,440,1,0,0,0,440,442,1,0,0,0,441,439,
        1,0,0,0,442,446,3,34,17,0,443,445,5,77,0,0,444,443,1,0,0,0,445,448,
        1,0,0,0,446,444,1,0,0,0,446,447,1,0,0,0,447,465,1,0,0,0,448,446,
        1,0,0,0,449,453,5,69,0,0,450,452,5,77,0,0,451,450,1,0,0,0,452,455,
        1,0,0,0,453,451,1,0,0,0,453,454,1,0,0,0,454,456,1,0,0,0,455,453,
        1,0,0,0,456,460,3,34,17,0,457,459,5,77,0,0,458,457,1,0,0,0,459,462,
        1,0,0,0,460,458,1,0,0,0,460,461,1,0,0,0,461,464,1,0,0,0,462,460,
        1,0,0,0,463,449,1,0,0,0,464,467,1,0,0,0,465,463,1,0,0,0,465,466,
        1,0,0,0,466,468,1,0,0,0,467,465,1,0,0,0,468,469,5,71,0,0,469,33,
        1,0,0,0,470,472,7,4,0,0,471,470,1,0,0,0,471,472,1,0,0,0,472,473,
        1,0,0,0,473,474,5,67,0,0,474,35,1,0,0,0,475,481,5,60,0,0,476,481,
        5,61,0,0,477,481,5,62,0,0,478,479,5,63,0,0,479,481,5,67,0,0,480,
        475,1,0,0,0,480,476,1,0,0,0,480,477,1,0,0,0,480,478,1,0,0,0,481,
        37,1,0,0,0,482,483,5,40,0,0,483,485,3,54,27,0,484,486,3,40,20,0,
        485,484,1,0,0,0,485,486,1,0,0,0,486,39,1,0,0,0,487,488,5,42,0,0,
        488,489,3,56,28,0,489,41,1,0,0,0,490,491,5,43,0,0,491,494,3,56,28,
        0,492,493,5,44,0,0,493,495,3,56,28,0,494,492,1,0,0,0,494,495,1,0,
        0,0,495,43,1,0,0,0,496,497,5,23,0,0,497,502,3,46,23,0,498,499,5,
        69,0,0,499,501,3,46,23,0,500,498,1,0,0,0,501,504,1,0,0,0,502,500,
        1,0,0,0,502,503,1,0,0,0,503,45,1,0,0,0,504,502,1,0,0,0,505,508,5,
        66,0,0,506,507,5,73,0,0,507,509,5,66,0,0,508,506,1,0,0,0,508,509,
        1,0,0,0,509,47,1,0,0,0,510,514,3,24,12,0,511,514,5,65,0,0,512,514,
        5,67,0,0,513,510,1,0,0,0,513,511,1,0,0,0,513,512,1,0,0,0,514,49,
        1,0,0,0,515,516,5,53,0,0,516,517,3,54,27,0,517,51,1,0,0,0,518,519,
        7,5,0,0,519,53,1,0,0,0,520,522,5,73,0,0,521,520,1,0,0,0,521,522,
        1,0,0,0,522,523,1,0,0,0,523,524,5,66,0,0,524,55,1,0,0,0,525,527,
        5,73,0,0,526,525,1,0,0,0,526,527,1,0,0,0,527,528,1,0,0,0,528,529,
        5,66,0,0,529,57,1,0,0,0,530,532,5,73,0,0,531,530,1,0,0,0,531,532,
        1,0,0,0,532,533,1,0,0,0,533,534,5,66,0,0,534,59,1,0,0,0,535,537,
        5,73,0,0,536,535,1,0,0,0,536,537,1,0,0,0,537,538,1,0,0,0,538,539,
        5,66,0,0,539,61,1,0,0,0,71,65,71,80,83,92,94,102,111,120,127,134,
        141,146,152,162,169,176,183,188,195,204,211,218,225,230,235,250,
        253,255,270,276,278,286,289,298,300,305,307,318,324,330,336,346,
        355,358,366,371,382,394,409,415,421,424,428,430,439,446,453,460,
        465,471,480,485,494,502,508,513,521,526,531,536
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
                     "'CODE'", "'SIGNAL'", "'OUTPUT'", "'MISSING'", "'EMPTY'", 
                     "'OLDER'", "'NEWER'", "'THAN'", "'NOT'", "'SUCCESS'", 
                     "'IF'", "'DOWN'", "'DRAINED'", "'DISK'", "'INODES'", 
                     "'QUOTA'", "'ABOVE'", "'RECURRING'", "'TIMES'", "'WITHIN'", 
                     "'TIMEOUT'", "'WARMUP'", "'LIMIT'", "'WITHOUT'", "'BACKOFF'", 
                     "'ELSE'", "'FAIL'", "'PAUSE'", "'ESCALATE'", "'RAISE'", 
                     "'SEVERITY'", "'CAUSE'", "'EXTERNAL'", "'PREDICTED'", 
                     "'CONFIDENCE'", "'BEFORE'", "'FAILURE'", "'stdout'", 
                     "'stderr'", "'output'", "'file'", "<INVALID>", "<INVALID>", 
                     "<INVALID>", "<INVALID>", "<INVALID>", "','", "'['", 
                     "']'", "'.'", "'-'", "'*'", "'?'", "'%'" ]

    symbolicNames = [ "<INVALID>", "INCLUDE", "DECLARE", "ENTITY", "EXCEPTION_TYPE", 
                      "RESOURCE", "EXCEPTION", "DETECTION", "RECOVERY", 
                      "STEP", "JOB", "NODE", "HANDLER", "COUPLED", "LOG", 
                      "MATCH", "MULTIPLE", "ANY", "HANG", "SILENCE", "PROGRESS", 
                      "EXIT", "EXCEPT", "CODE", "SIGNAL", "OUTPUT_FILES", 
                      "MISSING", "EMPTY", "OLDER", "NEWER", "THAN", "NOT", 
                      "SUCCESS", "IF", "DOWN", "DRAINED", "DISK", "INODES", 
                      "QUOTA", "ABOVE", "RECURRING", "TIMES", "WITHIN", 
                      "TIMEOUT", "WARMUP", "LIMIT", "WITHOUT", "BACKOFF", 
                      "ELSE", "FAIL", "PAUSE", "ESCALATE", "RAISE", "SEVERITY", 
                      "CAUSE", "EXTERNAL", "PREDICTED", "CONFIDENCE", "BEFORE", 
                      "FAILURE", "STDOUT", "STDERR", "OUTPUT", "FILE", "IDENTIFIER", 
                      "PAIR", "NUMBER", "STRING", "JSON_OBJECT", "COMMA", 
                      "OPEN", "CLOSE", "DOT", "DASH", "STAR", "QUESTION", 
                      "PERCENT", "NEWLINE", "CONTINUATION", "BLANK", "COMMENT", 
                      "INVALID" ]

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
    RULE_causeClass = 24
    RULE_severity = 25
    RULE_signal = 26
    RULE_count = 27
    RULE_seconds = 28
    RULE_percent = 29
    RULE_confidence = 30

    ruleNames =  [ "specification", "line", "statement", "declaration", 
                   "handling", "entity", "level", "resource", "operation", 
                   "exceptionName", "offer", "job", "word", "clause", "detection", 
                   "pattern", "patterns", "listed", "source", "recurring", 
                   "within", "timer", "codes", "code", "causeClass", "severity", 
                   "signal", "count", "seconds", "percent", "confidence" ]

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
    OUTPUT_FILES=25
    MISSING=26
    EMPTY=27
    OLDER=28
    NEWER=29
    THAN=30
    NOT=31
    SUCCESS=32
    IF=33
    DOWN=34
    DRAINED=35
    DISK=36
    INODES=37
    QUOTA=38
    ABOVE=39
    RECURRING=40
    TIMES=41
    WITHIN=42
    TIMEOUT=43
    WARMUP=44
    LIMIT=45
    WITHOUT=46
    BACKOFF=47
    ELSE=48
    FAIL=49
    PAUSE=50
    ESCALATE=51
    RAISE=52
    SEVERITY=53
    CAUSE=54
    EXTERNAL=55
    PREDICTED=56
    CONFIDENCE=57
    BEFORE=58
    FAILURE=59
    STDOUT=60
    STDERR=61
    OUTPUT=62
    FILE=63
    IDENTIFIER=64
    PAIR=65
    NUMBER=66
    STRING=67
    JSON_OBJECT=68
    COMMA=69
    OPEN=70
    CLOSE=71
    DOT=72
    DASH=73
    STAR=74
    QUESTION=75
    PERCENT=76
    NEWLINE=77
    CONTINUATION=78
    BLANK=79
    COMMENT=80
    INVALID=81

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
            self.state = 65
            self._errHandler.sync(self)
            _la = self._input.LA(1)
            while _la==77:
                self.state = 62
                self.match(ESLParser.NEWLINE)
                self.state = 67
                self._errHandler.sync(self)
                _la = self._input.LA(1)

            self.state = 71
            self._errHandler.sync(self)
            _la = self._input.LA(1)
            while (((_la) & ~0x3f) == 0 and ((1 << _la) & 70) != 0):
                self.state = 68
                self.line()
                self.state = 73
                self._errHandler.sync(self)
                _la = self._input.LA(1)

            self.state = 74
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
            self.state = 76
            self.statement()
            self.state = 83
            self._errHandler.sync(self)
            token = self._input.LA(1)
            if token in [77]:
                self.state = 78 
                self._errHandler.sync(self)
                _la = self._input.LA(1)
                while True:
                    self.state = 77
                    self.match(ESLParser.NEWLINE)
                    self.state = 80 
                    self._errHandler.sync(self)
                    _la = self._input.LA(1)
                    if not (_la==77):
                        break

                pass
            elif token in [-1]:
                self.state = 82
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
            self.state = 94
            self._errHandler.sync(self)
            token = self._input.LA(1)
            if token in [2]:
                self.enterOuterAlt(localctx, 1)
                self.state = 85
                self.match(ESLParser.DECLARE)
                self.state = 86
                self.declaration()
                pass
            elif token in [6]:
                self.enterOuterAlt(localctx, 2)
                self.state = 87
                self.match(ESLParser.EXCEPTION)
                self.state = 88
                self.handling()
                pass
            elif token in [1]:
                self.enterOuterAlt(localctx, 3)
                self.state = 89
                self.match(ESLParser.INCLUDE)
                self.state = 90
                self.match(ESLParser.STRING)
                self.state = 92
                self._errHandler.sync(self)
                _la = self._input.LA(1)
                if (((_la) & ~0x3f) == 0 and ((1 << _la) & -1152921504606846976) != 0):
                    self.state = 91
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
            self.state = 235
            self._errHandler.sync(self)
            token = self._input.LA(1)
            if token in [3]:
                localctx = ESLParser.EntitiesContext(self, localctx)
                self.enterOuterAlt(localctx, 1)
                self.state = 96
                self.match(ESLParser.ENTITY)
                self.state = 97
                self.entity()
                self.state = 102
                self._errHandler.sync(self)
                _la = self._input.LA(1)
                while _la==69:
                    self.state = 98
                    self.match(ESLParser.COMMA)
                    self.state = 99
                    self.entity()
                    self.state = 104
                    self._errHandler.sync(self)
                    _la = self._input.LA(1)

                pass
            elif token in [4]:
                localctx = ESLParser.LevelsContext(self, localctx)
                self.enterOuterAlt(localctx, 2)
                self.state = 105
                self.match(ESLParser.EXCEPTION_TYPE)
                self.state = 106
                self.level()
                self.state = 111
                self._errHandler.sync(self)
                _la = self._input.LA(1)
                while _la==69:
                    self.state = 107
                    self.match(ESLParser.COMMA)
                    self.state = 108
                    self.level()
                    self.state = 113
                    self._errHandler.sync(self)
                    _la = self._input.LA(1)

                pass
            elif token in [5]:
                localctx = ESLParser.OffersContext(self, localctx)
                self.enterOuterAlt(localctx, 3)
                self.state = 114
                self.match(ESLParser.RESOURCE)
                self.state = 115
                self.resource()
                self.state = 116
                self.match(ESLParser.OPEN)
                self.state = 120
                self._errHandler.sync(self)
                _la = self._input.LA(1)
                while _la==77:
                    self.state = 117
                    self.match(ESLParser.NEWLINE)
                    self.state = 122
                    self._errHandler.sync(self)
                    _la = self._input.LA(1)

                self.state = 123
                self.offer()
                self.state = 127
                self._errHandler.sync(self)
                _la = self._input.LA(1)
                while _la==77:
                    self.state = 124
                    self.match(ESLParser.NEWLINE)
                    self.state = 129
                    self._errHandler.sync(self)
                    _la = self._input.LA(1)

                self.state = 146
                self._errHandler.sync(self)
                _la = self._input.LA(1)
                while _la==69:
                    self.state = 130
                    self.match(ESLParser.COMMA)
                    self.state = 134
                    self._errHandler.sync(self)
                    _la = self._input.LA(1)
                    while _la==77:
                        self.state = 131
                        self.match(ESLParser.NEWLINE)
                        self.state = 136
                        self._errHandler.sync(self)
                        _la = self._input.LA(1)

                    self.state = 137
                    self.offer()
                    self.state = 141
                    self._errHandler.sync(self)
                    _la = self._input.LA(1)
                    while _la==77:
                        self.state = 138
                        self.match(ESLParser.NEWLINE)
                        self.state = 143
                        self._errHandler.sync(self)
                        _la = self._input.LA(1)

                    self.state = 148
                    self._errHandler.sync(self)
                    _la = self._input.LA(1)

                self.state = 149
                self.match(ESLParser.CLOSE)
                self.state = 152
                self._errHandler.sync(self)
                _la = self._input.LA(1)
                if _la==12:
                    self.state = 150
                    self.match(ESLParser.HANDLER)
                    self.state = 151
                    self.match(ESLParser.STRING)


                pass
            elif token in [6]:
                localctx = ESLParser.DeclaredContext(self, localctx)
                self.enterOuterAlt(localctx, 4)
                self.state = 154
                self.match(ESLParser.EXCEPTION)
                self.state = 155
                self.exceptionName()
                self.state = 156
                self.level()
                self.state = 157
                self.match(ESLParser.JOB)
                self.state = 158
                self.match(ESLParser.OPEN)
                self.state = 162
                self._errHandler.sync(self)
                _la = self._input.LA(1)
                while _la==77:
                    self.state = 159
                    self.match(ESLParser.NEWLINE)
                    self.state = 164
                    self._errHandler.sync(self)
                    _la = self._input.LA(1)

                self.state = 165
                self.job()
                self.state = 169
                self._errHandler.sync(self)
                _la = self._input.LA(1)
                while _la==77:
                    self.state = 166
                    self.match(ESLParser.NEWLINE)
                    self.state = 171
                    self._errHandler.sync(self)
                    _la = self._input.LA(1)

                self.state = 188
                self._errHandler.sync(self)
                _la = self._input.LA(1)
                while _la==69:
                    self.state = 172
                    self.match(ESLParser.COMMA)
                    self.state = 176
                    self._errHandler.sync(self)
                    _la = self._input.LA(1)
                    while _la==77:
                        self.state = 173
                        self.match(ESLParser.NEWLINE)
                        self.state = 178
                        self._errHandler.sync(self)
                        _la = self._input.LA(1)

                    self.state = 179
                    self.job()
                    self.state = 183
                    self._errHandler.sync(self)
                    _la = self._input.LA(1)
                    while _la==77:
                        self.state = 180
                        self.match(ESLParser.NEWLINE)
                        self.state = 185
                        self._errHandler.sync(self)
                        _la = self._input.LA(1)

                    self.state = 190
                    self._errHandler.sync(self)
                    _la = self._input.LA(1)

                self.state = 191
                self.match(ESLParser.CLOSE)
                self.state = 195
                self._errHandler.sync(self)
                _la = self._input.LA(1)
                while (((_la) & ~0x3f) == 0 and ((1 << _la) & 4960996464525312) != 0):
                    self.state = 192
                    self.clause()
                    self.state = 197
                    self._errHandler.sync(self)
                    _la = self._input.LA(1)

                pass
            elif token in [13]:
                localctx = ESLParser.CoupledContext(self, localctx)
                self.enterOuterAlt(localctx, 5)
                self.state = 198
                self.match(ESLParser.COUPLED)
                self.state = 199
                self.match(ESLParser.JOB)
                self.state = 200
                self.match(ESLParser.OPEN)
                self.state = 204
                self._errHandler.sync(self)
                _la = self._input.LA(1)
                while _la==77:
                    self.state = 201
                    self.match(ESLParser.NEWLINE)
                    self.state = 206
                    self._errHandler.sync(self)
                    _la = self._input.LA(1)

                self.state = 207
                self.job()
                self.state = 211
                self._errHandler.sync(self)
                _la = self._input.LA(1)
                while _la==77:
                    self.state = 208
                    self.match(ESLParser.NEWLINE)
                    self.state = 213
                    self._errHandler.sync(self)
                    _la = self._input.LA(1)

                self.state = 230
                self._errHandler.sync(self)
                _la = self._input.LA(1)
                while _la==69:
                    self.state = 214
                    self.match(ESLParser.COMMA)
                    self.state = 218
                    self._errHandler.sync(self)
                    _la = self._input.LA(1)
                    while _la==77:
                        self.state = 215
                        self.match(ESLParser.NEWLINE)
                        self.state = 220
                        self._errHandler.sync(self)
                        _la = self._input.LA(1)

                    self.state = 221
                    self.job()
                    self.state = 225
                    self._errHandler.sync(self)
                    _la = self._input.LA(1)
                    while _la==77:
                        self.state = 222
                        self.match(ESLParser.NEWLINE)
                        self.state = 227
                        self._errHandler.sync(self)
                        _la = self._input.LA(1)

                    self.state = 232
                    self._errHandler.sync(self)
                    _la = self._input.LA(1)

                self.state = 233
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
            self.state = 255
            self._errHandler.sync(self)
            token = self._input.LA(1)
            if token in [7]:
                localctx = ESLParser.DetectedContext(self, localctx)
                self.enterOuterAlt(localctx, 1)
                self.state = 237
                self.match(ESLParser.DETECTION)
                self.state = 238
                self.exceptionName()
                self.state = 239
                self.detection()
                pass
            elif token in [8]:
                localctx = ESLParser.RecoveredContext(self, localctx)
                self.enterOuterAlt(localctx, 2)
                self.state = 241
                self.match(ESLParser.RECOVERY)
                self.state = 242
                self.match(ESLParser.STEP)
                self.state = 243
                self.exceptionName()
                self.state = 244
                self.entity()
                self.state = 245
                self.resource()
                self.state = 246
                self.match(ESLParser.DOT)
                self.state = 247
                self.operation()
                self.state = 250
                self._errHandler.sync(self)
                _la = self._input.LA(1)
                if _la==58:
                    self.state = 248
                    self.match(ESLParser.BEFORE)
                    self.state = 249
                    self.match(ESLParser.FAILURE)


                self.state = 253
                self._errHandler.sync(self)
                _la = self._input.LA(1)
                if _la==68:
                    self.state = 252
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
            self.state = 257
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
            self.state = 259
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
            self.state = 261
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
            self.state = 263
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
            self.state = 265
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
            self.state = 267
            self.operation()
            self.state = 270
            self._errHandler.sync(self)
            _la = self._input.LA(1)
            if _la==12:
                self.state = 268
                self.match(ESLParser.HANDLER)
                self.state = 269
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

        def PAIR(self, i:int=None):
            if i is None:
                return self.getTokens(ESLParser.PAIR)
            else:
                return self.getToken(ESLParser.PAIR, i)

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
            self.state = 278
            self._errHandler.sync(self)
            token = self._input.LA(1)
            if token in [67]:
                self.enterOuterAlt(localctx, 1)
                self.state = 272
                self.match(ESLParser.STRING)
                pass
            elif token in [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43, 44, 45, 46, 47, 48, 49, 50, 51, 52, 53, 54, 55, 56, 57, 58, 59, 60, 61, 62, 63, 64, 66, 72, 73, 74, 75, 78, 79, 80]:
                self.enterOuterAlt(localctx, 2)
                self.state = 274 
                self._errHandler.sync(self)
                _la = self._input.LA(1)
                while True:
                    self.state = 273
                    _la = self._input.LA(1)
                    if _la <= 0 or ((((_la - 65)) & ~0x3f) == 0 and ((1 << (_la - 65)) & 71805) != 0):
                        self._errHandler.recoverInline(self)
                    else:
                        self._errHandler.reportMatch(self)
                        self.consume()
                    self.state = 276 
                    self._errHandler.sync(self)
                    _la = self._input.LA(1)
                    if not ((((_la) & ~0x3f) == 0 and ((1 << _la) & -2) != 0) or ((((_la - 64)) & ~0x3f) == 0 and ((1 << (_la - 64)) & 118533) != 0)):
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

        def OUTPUT_FILES(self):
            return self.getToken(ESLParser.OUTPUT_FILES, 0)

        def MISSING(self):
            return self.getToken(ESLParser.MISSING, 0)

        def EMPTY(self):
            return self.getToken(ESLParser.EMPTY, 0)

        def OLDER(self):
            return self.getToken(ESLParser.OLDER, 0)

        def NEWER(self):
            return self.getToken(ESLParser.NEWER, 0)

        def THAN(self):
            return self.getToken(ESLParser.THAN, 0)

        def NOT(self):
            return self.getToken(ESLParser.NOT, 0)

        def SUCCESS(self):
            return self.getToken(ESLParser.SUCCESS, 0)

        def IF(self):
            return self.getToken(ESLParser.IF, 0)

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

        def WITHOUT(self):
            return self.getToken(ESLParser.WITHOUT, 0)

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

        def CAUSE(self):
            return self.getToken(ESLParser.CAUSE, 0)

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
            self.state = 280
            _la = self._input.LA(1)
            if not(((((_la - 1)) & ~0x3f) == 0 and ((1 << (_la - 1)) & -1) != 0)):
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

        def WITHOUT(self):
            return self.getToken(ESLParser.WITHOUT, 0)
        def PROGRESS(self):
            return self.getToken(ESLParser.PROGRESS, 0)
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
            self.state = 307
            self._errHandler.sync(self)
            token = self._input.LA(1)
            if token in [45]:
                localctx = ESLParser.LimitContext(self, localctx)
                self.enterOuterAlt(localctx, 1)
                self.state = 282
                self.match(ESLParser.LIMIT)
                self.state = 283
                self.count()
                self.state = 286
                self._errHandler.sync(self)
                _la = self._input.LA(1)
                if _la==46:
                    self.state = 284
                    self.match(ESLParser.WITHOUT)
                    self.state = 285
                    self.match(ESLParser.PROGRESS)


                self.state = 289
                self._errHandler.sync(self)
                _la = self._input.LA(1)
                if _la==42:
                    self.state = 288
                    self.within()


                pass
            elif token in [47]:
                localctx = ESLParser.BackoffContext(self, localctx)
                self.enterOuterAlt(localctx, 2)
                self.state = 291
                self.match(ESLParser.BACKOFF)
                self.state = 292
                self.seconds()
                pass
            elif token in [48]:
                localctx = ESLParser.OtherwiseContext(self, localctx)
                self.enterOuterAlt(localctx, 3)
                self.state = 293
                self.match(ESLParser.ELSE)
                self.state = 300
                self._errHandler.sync(self)
                token = self._input.LA(1)
                if token in [49]:
                    self.state = 294
                    self.match(ESLParser.FAIL)
                    pass
                elif token in [50]:
                    self.state = 295
                    self.match(ESLParser.PAUSE)
                    pass
                elif token in [51]:
                    self.state = 296
                    self.match(ESLParser.ESCALATE)
                    self.state = 298
                    self._errHandler.sync(self)
                    la_ = self._interp.adaptivePredict(self._input,34,self._ctx)
                    if la_ == 1:
                        self.state = 297
                        self.exceptionName()


                    pass
                else:
                    raise NoViableAltException(self)

                pass
            elif token in [52]:
                localctx = ESLParser.RaiseContext(self, localctx)
                self.enterOuterAlt(localctx, 4)
                self.state = 302
                self.match(ESLParser.RAISE)
                self.state = 303
                self.match(ESLParser.STRING)
                self.state = 305
                self._errHandler.sync(self)
                _la = self._input.LA(1)
                if _la==53:
                    self.state = 304
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


    class CauseContext(DetectionContext):

        def __init__(self, parser, ctx:ParserRuleContext): # actually a ESLParser.DetectionContext
            super().__init__(parser)
            self.copyFrom(ctx)

        def CAUSE(self):
            return self.getToken(ESLParser.CAUSE, 0)
        def causeClass(self, i:int=None):
            if i is None:
                return self.getTypedRuleContexts(ESLParser.CauseClassContext)
            else:
                return self.getTypedRuleContext(ESLParser.CauseClassContext,i)

        def COMMA(self, i:int=None):
            if i is None:
                return self.getTokens(ESLParser.COMMA)
            else:
                return self.getToken(ESLParser.COMMA, i)
        def CONFIDENCE(self):
            return self.getToken(ESLParser.CONFIDENCE, 0)
        def confidence(self):
            return self.getTypedRuleContext(ESLParser.ConfidenceContext,0)


        def accept(self, visitor:ParseTreeVisitor):
            if hasattr( visitor, "visitCause" ):
                return visitor.visitCause(self)
            else:
                return visitor.visitChildren(self)


    class PromisedContext(DetectionContext):

        def __init__(self, parser, ctx:ParserRuleContext): # actually a ESLParser.DetectionContext
            super().__init__(parser)
            self.copyFrom(ctx)

        def OUTPUT_FILES(self):
            return self.getToken(ESLParser.OUTPUT_FILES, 0)
        def STRING(self, i:int=None):
            if i is None:
                return self.getTokens(ESLParser.STRING)
            else:
                return self.getToken(ESLParser.STRING, i)
        def MISSING(self):
            return self.getToken(ESLParser.MISSING, 0)
        def EMPTY(self):
            return self.getToken(ESLParser.EMPTY, 0)
        def OLDER(self):
            return self.getToken(ESLParser.OLDER, 0)
        def THAN(self):
            return self.getToken(ESLParser.THAN, 0)
        def NOT(self):
            return self.getToken(ESLParser.NOT, 0)
        def pattern(self):
            return self.getTypedRuleContext(ESLParser.PatternContext,0)


        def accept(self, visitor:ParseTreeVisitor):
            if hasattr( visitor, "visitPromised" ):
                return visitor.visitPromised(self)
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


    class SuccessContext(DetectionContext):

        def __init__(self, parser, ctx:ParserRuleContext): # actually a ESLParser.DetectionContext
            super().__init__(parser)
            self.copyFrom(ctx)

        def SUCCESS(self):
            return self.getToken(ESLParser.SUCCESS, 0)
        def IF(self):
            return self.getToken(ESLParser.IF, 0)
        def OUTPUT_FILES(self):
            return self.getToken(ESLParser.OUTPUT_FILES, 0)
        def STRING(self, i:int=None):
            if i is None:
                return self.getTokens(ESLParser.STRING)
            else:
                return self.getToken(ESLParser.STRING, i)
        def NOT(self):
            return self.getToken(ESLParser.NOT, 0)
        def EMPTY(self):
            return self.getToken(ESLParser.EMPTY, 0)
        def NEWER(self):
            return self.getToken(ESLParser.NEWER, 0)
        def THAN(self):
            return self.getToken(ESLParser.THAN, 0)
        def pattern(self):
            return self.getTypedRuleContext(ESLParser.PatternContext,0)


        def accept(self, visitor:ParseTreeVisitor):
            if hasattr( visitor, "visitSuccess" ):
                return visitor.visitSuccess(self)
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
            self.state = 430
            self._errHandler.sync(self)
            token = self._input.LA(1)
            if token in [18]:
                localctx = ESLParser.HangContext(self, localctx)
                self.enterOuterAlt(localctx, 1)
                self.state = 309
                self.match(ESLParser.HANG)
                self.state = 310
                self.pattern()
                self.state = 311
                self.source()
                self.state = 312
                self.timer()
                pass
            elif token in [14, 15]:
                localctx = ESLParser.LogContext(self, localctx)
                self.enterOuterAlt(localctx, 2)
                self.state = 314
                self.pattern()
                self.state = 315
                self.source()
                self.state = 318
                self._errHandler.sync(self)
                token = self._input.LA(1)
                if token in [40]:
                    self.state = 316
                    self.recurring()
                    pass
                elif token in [43]:
                    self.state = 317
                    self.timer()
                    pass
                elif token in [-1, 77]:
                    pass
                else:
                    pass
                pass
            elif token in [16]:
                localctx = ESLParser.MultipleContext(self, localctx)
                self.enterOuterAlt(localctx, 3)
                self.state = 320
                self.match(ESLParser.MULTIPLE)
                self.state = 321
                self.patterns()
                self.state = 322
                self.source()
                self.state = 324
                self._errHandler.sync(self)
                _la = self._input.LA(1)
                if _la==42:
                    self.state = 323
                    self.within()


                pass
            elif token in [17]:
                localctx = ESLParser.AnyOfContext(self, localctx)
                self.enterOuterAlt(localctx, 4)
                self.state = 326
                self.match(ESLParser.ANY)
                self.state = 327
                self.patterns()
                self.state = 328
                self.source()
                self.state = 330
                self._errHandler.sync(self)
                _la = self._input.LA(1)
                if _la==40:
                    self.state = 329
                    self.recurring()


                pass
            elif token in [19]:
                localctx = ESLParser.SilenceContext(self, localctx)
                self.enterOuterAlt(localctx, 5)
                self.state = 332
                self.match(ESLParser.SILENCE)
                self.state = 333
                self.timer()
                pass
            elif token in [20]:
                localctx = ESLParser.ProgressContext(self, localctx)
                self.enterOuterAlt(localctx, 6)
                self.state = 334
                self.match(ESLParser.PROGRESS)
                self.state = 336
                self._errHandler.sync(self)
                _la = self._input.LA(1)
                if _la==15:
                    self.state = 335
                    self.match(ESLParser.MATCH)


                self.state = 338
                self.match(ESLParser.STRING)
                self.state = 339
                self.source()
                self.state = 340
                self.timer()
                pass
            elif token in [21]:
                localctx = ESLParser.ExitContext(self, localctx)
                self.enterOuterAlt(localctx, 7)
                self.state = 342
                self.match(ESLParser.EXIT)
                self.state = 358
                self._errHandler.sync(self)
                token = self._input.LA(1)
                if token in [17]:
                    self.state = 343
                    self.match(ESLParser.ANY)
                    self.state = 346
                    self._errHandler.sync(self)
                    _la = self._input.LA(1)
                    if _la==22:
                        self.state = 344
                        self.match(ESLParser.EXCEPT)
                        self.state = 345
                        self.codes()


                    pass
                elif token in [23]:
                    self.state = 348
                    self.codes()
                    pass
                elif token in [24]:
                    self.state = 349
                    self.match(ESLParser.SIGNAL)
                    self.state = 350
                    self.signal()
                    self.state = 355
                    self._errHandler.sync(self)
                    _la = self._input.LA(1)
                    while _la==69:
                        self.state = 351
                        self.match(ESLParser.COMMA)
                        self.state = 352
                        self.signal()
                        self.state = 357
                        self._errHandler.sync(self)
                        _la = self._input.LA(1)

                    pass
                else:
                    raise NoViableAltException(self)

                pass
            elif token in [54]:
                localctx = ESLParser.CauseContext(self, localctx)
                self.enterOuterAlt(localctx, 8)
                self.state = 360
                self.match(ESLParser.CAUSE)
                self.state = 361
                self.causeClass()
                self.state = 366
                self._errHandler.sync(self)
                _la = self._input.LA(1)
                while _la==69:
                    self.state = 362
                    self.match(ESLParser.COMMA)
                    self.state = 363
                    self.causeClass()
                    self.state = 368
                    self._errHandler.sync(self)
                    _la = self._input.LA(1)

                self.state = 371
                self._errHandler.sync(self)
                _la = self._input.LA(1)
                if _la==57:
                    self.state = 369
                    self.match(ESLParser.CONFIDENCE)
                    self.state = 370
                    self.confidence()


                pass
            elif token in [25]:
                localctx = ESLParser.PromisedContext(self, localctx)
                self.enterOuterAlt(localctx, 9)
                self.state = 373
                self.match(ESLParser.OUTPUT_FILES)
                self.state = 374
                self.match(ESLParser.STRING)
                self.state = 382
                self._errHandler.sync(self)
                token = self._input.LA(1)
                if token in [26]:
                    self.state = 375
                    self.match(ESLParser.MISSING)
                    pass
                elif token in [27]:
                    self.state = 376
                    self.match(ESLParser.EMPTY)
                    pass
                elif token in [28]:
                    self.state = 377
                    self.match(ESLParser.OLDER)
                    self.state = 378
                    self.match(ESLParser.THAN)
                    self.state = 379
                    self.match(ESLParser.STRING)
                    pass
                elif token in [31]:
                    self.state = 380
                    self.match(ESLParser.NOT)
                    self.state = 381
                    self.pattern()
                    pass
                else:
                    raise NoViableAltException(self)

                pass
            elif token in [32]:
                localctx = ESLParser.SuccessContext(self, localctx)
                self.enterOuterAlt(localctx, 10)
                self.state = 384
                self.match(ESLParser.SUCCESS)
                self.state = 385
                self.match(ESLParser.IF)
                self.state = 386
                self.match(ESLParser.OUTPUT_FILES)
                self.state = 387
                self.match(ESLParser.STRING)
                self.state = 394
                self._errHandler.sync(self)
                token = self._input.LA(1)
                if token in [31]:
                    self.state = 388
                    self.match(ESLParser.NOT)
                    self.state = 389
                    self.match(ESLParser.EMPTY)
                    pass
                elif token in [29]:
                    self.state = 390
                    self.match(ESLParser.NEWER)
                    self.state = 391
                    self.match(ESLParser.THAN)
                    self.state = 392
                    self.match(ESLParser.STRING)
                    pass
                elif token in [14, 15]:
                    self.state = 393
                    self.pattern()
                    pass
                elif token in [-1, 77]:
                    pass
                else:
                    pass
                pass
            elif token in [11]:
                localctx = ESLParser.NodeContext(self, localctx)
                self.enterOuterAlt(localctx, 11)
                self.state = 396
                self.match(ESLParser.NODE)
                self.state = 397
                _la = self._input.LA(1)
                if not(_la==34 or _la==35):
                    self._errHandler.recoverInline(self)
                else:
                    self._errHandler.reportMatch(self)
                    self.consume()
                pass
            elif token in [36, 37, 38]:
                localctx = ESLParser.DiskContext(self, localctx)
                self.enterOuterAlt(localctx, 12)
                self.state = 398
                _la = self._input.LA(1)
                if not((((_la) & ~0x3f) == 0 and ((1 << _la) & 481036337152) != 0)):
                    self._errHandler.recoverInline(self)
                else:
                    self._errHandler.reportMatch(self)
                    self.consume()
                self.state = 399
                self.match(ESLParser.STRING)
                self.state = 400
                self.match(ESLParser.ABOVE)
                self.state = 401
                self.percent()
                self.state = 402
                self.match(ESLParser.PERCENT)
                pass
            elif token in [6]:
                localctx = ESLParser.CountedContext(self, localctx)
                self.enterOuterAlt(localctx, 13)
                self.state = 404
                self.match(ESLParser.EXCEPTION)
                self.state = 405
                self.exceptionName()
                self.state = 406
                self.count()
                self.state = 407
                self.match(ESLParser.TIMES)
                self.state = 409
                self._errHandler.sync(self)
                _la = self._input.LA(1)
                if _la==42:
                    self.state = 408
                    self.within()


                pass
            elif token in [10]:
                localctx = ESLParser.JobExceptionContext(self, localctx)
                self.enterOuterAlt(localctx, 14)
                self.state = 411
                self.match(ESLParser.JOB)
                self.state = 412
                self.match(ESLParser.EXCEPTION)
                self.state = 413
                self.match(ESLParser.STRING)
                self.state = 415
                self._errHandler.sync(self)
                _la = self._input.LA(1)
                if _la==53:
                    self.state = 414
                    self.severity()


                pass
            elif token in [55]:
                localctx = ESLParser.ExternalContext(self, localctx)
                self.enterOuterAlt(localctx, 15)
                self.state = 417
                self.match(ESLParser.EXTERNAL)
                pass
            elif token in [56]:
                localctx = ESLParser.PredictedContext(self, localctx)
                self.enterOuterAlt(localctx, 16)
                self.state = 418
                self.match(ESLParser.PREDICTED)
                self.state = 421
                self._errHandler.sync(self)
                _la = self._input.LA(1)
                if _la==11:
                    self.state = 419
                    self.match(ESLParser.NODE)
                    self.state = 420
                    self.match(ESLParser.STRING)


                self.state = 424
                self._errHandler.sync(self)
                _la = self._input.LA(1)
                if _la==42:
                    self.state = 423
                    self.within()


                self.state = 428
                self._errHandler.sync(self)
                _la = self._input.LA(1)
                if _la==57:
                    self.state = 426
                    self.match(ESLParser.CONFIDENCE)
                    self.state = 427
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
            self.state = 432
            _la = self._input.LA(1)
            if not(_la==14 or _la==15):
                self._errHandler.recoverInline(self)
            else:
                self._errHandler.reportMatch(self)
                self.consume()
            self.state = 433
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
            self.state = 435
            self.match(ESLParser.OPEN)
            self.state = 439
            self._errHandler.sync(self)
            _la = self._input.LA(1)
            while _la==77:
                self.state = 436
                self.match(ESLParser.NEWLINE)
                self.state = 441
                self._errHandler.sync(self)
                _la = self._input.LA(1)

            self.state = 442
            self.listed()
            self.state = 446
            self._errHandler.sync(self)
            _la = self._input.LA(1)
            while _la==77:
                self.state = 443
                self.match(ESLParser.NEWLINE)
                self.state = 448
                self._errHandler.sync(self)
                _la = self._input.LA(1)

            self.state = 465
            self._errHandler.sync(self)
            _la = self._input.LA(1)
            while _la==69:
                self.state = 449
                self.match(ESLParser.COMMA)
                self.state = 453
                self._errHandler.sync(self)
                _la = self._input.LA(1)
                while _la==77:
                    self.state = 450
                    self.match(ESLParser.NEWLINE)
                    self.state = 455
                    self._errHandler.sync(self)
                    _la = self._input.LA(1)

                self.state = 456
                self.listed()
                self.state = 460
                self._errHandler.sync(self)
                _la = self._input.LA(1)
                while _la==77:
                    self.state = 457
                    self.match(ESLParser.NEWLINE)
                    self.state = 462
                    self._errHandler.sync(self)
                    _la = self._input.LA(1)

                self.state = 467
                self._errHandler.sync(self)
                _la = self._input.LA(1)

            self.state = 468
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
            self.state = 471
            self._errHandler.sync(self)
            _la = self._input.LA(1)
            if _la==14 or _la==15:
                self.state = 470
                _la = self._input.LA(1)
                if not(_la==14 or _la==15):
                    self._errHandler.recoverInline(self)
                else:
                    self._errHandler.reportMatch(self)
                    self.consume()


            self.state = 473
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
            self.state = 480
            self._errHandler.sync(self)
            token = self._input.LA(1)
            if token in [60]:
                self.enterOuterAlt(localctx, 1)
                self.state = 475
                self.match(ESLParser.STDOUT)
                pass
            elif token in [61]:
                self.enterOuterAlt(localctx, 2)
                self.state = 476
                self.match(ESLParser.STDERR)
                pass
            elif token in [62]:
                self.enterOuterAlt(localctx, 3)
                self.state = 477
                self.match(ESLParser.OUTPUT)
                pass
            elif token in [63]:
                self.enterOuterAlt(localctx, 4)
                self.state = 478
                self.match(ESLParser.FILE)
                self.state = 479
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
            self.state = 482
            self.match(ESLParser.RECURRING)
            self.state = 483
            self.count()
            self.state = 485
            self._errHandler.sync(self)
            _la = self._input.LA(1)
            if _la==42:
                self.state = 484
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
            self.state = 487
            self.match(ESLParser.WITHIN)
            self.state = 488
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
            self.state = 490
            self.match(ESLParser.TIMEOUT)
            self.state = 491
            self.seconds()
            self.state = 494
            self._errHandler.sync(self)
            _la = self._input.LA(1)
            if _la==44:
                self.state = 492
                self.match(ESLParser.WARMUP)
                self.state = 493
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
            self.state = 496
            self.match(ESLParser.CODE)
            self.state = 497
            self.code()
            self.state = 502
            self._errHandler.sync(self)
            _la = self._input.LA(1)
            while _la==69:
                self.state = 498
                self.match(ESLParser.COMMA)
                self.state = 499
                self.code()
                self.state = 504
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
            self.state = 505
            self.match(ESLParser.NUMBER)
            self.state = 508
            self._errHandler.sync(self)
            _la = self._input.LA(1)
            if _la==73:
                self.state = 506
                self.match(ESLParser.DASH)
                self.state = 507
                self.match(ESLParser.NUMBER)


        except RecognitionException as re:
            localctx.exception = re
            self._errHandler.reportError(self, re)
            self._errHandler.recover(self, re)
        finally:
            self.exitRule()
        return localctx


    class CauseClassContext(ParserRuleContext):
        __slots__ = 'parser'

        def __init__(self, parser, parent:ParserRuleContext=None, invokingState:int=-1):
            super().__init__(parent, invokingState)
            self.parser = parser

        def word(self):
            return self.getTypedRuleContext(ESLParser.WordContext,0)


        def PAIR(self):
            return self.getToken(ESLParser.PAIR, 0)

        def STRING(self):
            return self.getToken(ESLParser.STRING, 0)

        def getRuleIndex(self):
            return ESLParser.RULE_causeClass

        def accept(self, visitor:ParseTreeVisitor):
            if hasattr( visitor, "visitCauseClass" ):
                return visitor.visitCauseClass(self)
            else:
                return visitor.visitChildren(self)




    def causeClass(self):

        localctx = ESLParser.CauseClassContext(self, self._ctx, self.state)
        self.enterRule(localctx, 48, self.RULE_causeClass)
        try:
            self.state = 513
            self._errHandler.sync(self)
            token = self._input.LA(1)
            if token in [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43, 44, 45, 46, 47, 48, 49, 50, 51, 52, 53, 54, 55, 56, 57, 58, 59, 60, 61, 62, 63, 64]:
                self.enterOuterAlt(localctx, 1)
                self.state = 510
                self.word()
                pass
            elif token in [65]:
                self.enterOuterAlt(localctx, 2)
                self.state = 511
                self.match(ESLParser.PAIR)
                pass
            elif token in [67]:
                self.enterOuterAlt(localctx, 3)
                self.state = 512
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
        self.enterRule(localctx, 50, self.RULE_severity)
        try:
            self.enterOuterAlt(localctx, 1)
            self.state = 515
            self.match(ESLParser.SEVERITY)
            self.state = 516
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
        self.enterRule(localctx, 52, self.RULE_signal)
        self._la = 0 # Token type
        try:
            self.enterOuterAlt(localctx, 1)
            self.state = 518
            _la = self._input.LA(1)
            if not(_la==64 or _la==66):
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
        self.enterRule(localctx, 54, self.RULE_count)
        self._la = 0 # Token type
        try:
            self.enterOuterAlt(localctx, 1)
            self.state = 521
            self._errHandler.sync(self)
            _la = self._input.LA(1)
            if _la==73:
                self.state = 520
                self.match(ESLParser.DASH)


            self.state = 523
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
        self.enterRule(localctx, 56, self.RULE_seconds)
        self._la = 0 # Token type
        try:
            self.enterOuterAlt(localctx, 1)
            self.state = 526
            self._errHandler.sync(self)
            _la = self._input.LA(1)
            if _la==73:
                self.state = 525
                self.match(ESLParser.DASH)


            self.state = 528
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
        self.enterRule(localctx, 58, self.RULE_percent)
        self._la = 0 # Token type
        try:
            self.enterOuterAlt(localctx, 1)
            self.state = 531
            self._errHandler.sync(self)
            _la = self._input.LA(1)
            if _la==73:
                self.state = 530
                self.match(ESLParser.DASH)


            self.state = 533
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
        self.enterRule(localctx, 60, self.RULE_confidence)
        self._la = 0 # Token type
        try:
            self.enterOuterAlt(localctx, 1)
            self.state = 536
            self._errHandler.sync(self)
            _la = self._input.LA(1)
            if _la==73:
                self.state = 535
                self.match(ESLParser.DASH)


            self.state = 538
            self.match(ESLParser.NUMBER)
        except RecognitionException as re:
            localctx.exception = re
            self._errHandler.reportError(self, re)
            self._errHandler.recover(self, re)
        finally:
            self.exitRule()
        return localctx





